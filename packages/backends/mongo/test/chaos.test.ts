/** Real processes with clocks of their own, killed at random, over a server that is killed as well. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import { GROUP, insist, OPTIONS, openBackend, request, STREAM } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const MEMBER = new URL("./fixtures/member.mjs", import.meta.url);
const EVENTS = 300;
const PARTITIONS = 2;
const SKEWS = [-5, 0, 5];
const LEASE_MS = 1_500;
const MEMBER_KILLS = 8;
/** The server is killed with every so-many-th member. */
const SERVER_KILL_EVERY = 4;

interface Said {
  readonly partition: number;
  readonly sequence: number;
  readonly token: number;
  readonly leasedAtMs: number;
  readonly state: string;
  readonly why: string | null;
}

const server = await startMongo();
afterAll(() => server.stop());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test.skipIf(server.real)(
  "members in processes of their own, killed at random over a server that is killed too: every event is acked, none twice",
  {
    timeout: 120_000,
  },
  async () => {
    const options = { url: server.url, database: newDatabase(), notify: false };
    const backend = await openBackend(options);
    await backend.createStream(STREAM, PARTITIONS);
    await backend.createGroup(STREAM, GROUP, { ...OPTIONS, leaseMs: LEASE_MS, maxAttempts: 1_000 }, { kind: "earliest" });
    await backend.append([request(EVENTS, PARTITIONS)]);
    const said: Said[] = [];
    const start = (name: string, skew: number): ChildProcess => {
      const child = fork(MEMBER, [JSON.stringify(options), name, String(skew)]);
      child.on("message", (one: Said) => said.push(one));
      return child;
    };
    const members = SKEWS.map((skew, n) => start(`m${n}`, skew));
    const startMs = Date.now();
    for (let kill = 0; kill < MEMBER_KILLS; kill++) {
      await pause(600 + ((kill * 53) % 90));
      const at = kill % members.length;
      members[at]?.kill("SIGKILL");
      members[at] = start(`m${at}-${kill}`, SKEWS[at] ?? 0);
      if (kill % SERVER_KILL_EVERY !== SERVER_KILL_EVERY - 1) continue;
      await server.kill();
      await server.restart();
    }
    for (const endMs = Date.now() + 80_000; Date.now() < endMs; await pause(100)) {
      const progress = await backend.progress(STREAM, GROUP).catch(() => []);
      if (progress.length > 0 && progress.every(({ frontier, highWatermark }) => frontier === highWatermark)) break;
    }
    for (const member of members) {
      member.kill("SIGKILL");
      await once(member, "exit");
    }
    const settled = { frontier: EVENTS / PARTITIONS, highWatermark: EVENTS / PARTITIONS };
    expect(await insist(() => backend.progress(STREAM, GROUP))).toMatchObject([settled, settled]);
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 0, deadLetters: 0, retrying: 0 });
    const acked = said.filter(({ state }) => state === "acked").map(({ partition, sequence }) => `${partition}/${sequence}`);
    expect(new Set(acked).size).toBe(acked.length);
    expect(acked.length).toBeGreaterThan(EVENTS / 2);
    // "settled" is the answer to a repeated ack whose first answer was lost; a stale one of another kind lost its delivery to somebody else
    for (const { state, why } of said) expect(state === "acked" || why === "reclaimed" || why === "settled").toBe(true);
    // the server's clock, whatever the member's (F6)
    for (const { leasedAtMs } of said) expect(Math.abs(leasedAtMs - startMs)).toBeLessThan(3_600_000);
    await backend.close();
  },
);
