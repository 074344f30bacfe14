/** Real processes with clocks of their own, killed at random, over a server that is killed as well. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { startRedis } from "@rheo/testing/servers";
import { describe, expect, test } from "vitest";
import { GROUP, OPTIONS, openBackend, request, STREAM } from "./fixtures/scene.ts";

const MEMBER = new URL("./fixtures/member.mjs", import.meta.url);
const EVENTS = 1_200;
const PARTITIONS = 2;
const SKEWS = [-5, 0, 5];
const LEASE_MS = 600;
const MEMBER_KILLS = 12;
const SERVER_KILLS = 2;

interface Said {
  readonly partition: number;
  readonly sequence: number;
  readonly token: number;
  readonly attempt: number;
  readonly leasedAtMs: number;
  readonly state: string;
  readonly why: string | null;
}

// with everysec a server whose disk is slow just then loses with its process what it has acknowledged
describe.each(["always", "no"])("members in processes of their own, appendfsync %s", (appendfsync) => {
  test("killed at random, with clocks hours apart, over a server that is killed too: every event is acked, none twice", {
    timeout: 120_000,
  }, async () => {
    const server = await startRedis({ settings: { appendonly: "yes", appendfsync } });
    const backend = await openBackend({ url: server.url });
    await backend.createStream(STREAM, PARTITIONS);
    await backend.createGroup(STREAM, GROUP, { ...OPTIONS, leaseMs: LEASE_MS, maxAttempts: 1_000 }, { kind: "earliest" });
    for (let n = 0; n < EVENTS; n += 200) await backend.append([request(200, PARTITIONS)]);
    const said: Said[] = [];
    const start = (name: string, skew: number): ChildProcess => {
      const child = fork(MEMBER, [JSON.stringify({ url: server.url }), name, String(skew)]);
      child.on("message", (one: Said) => said.push(one));
      return child;
    };
    const members = SKEWS.map((skew, n) => start(`m${n}`, skew));
    const startMs = Date.now();
    for (let kill = 0; kill < MEMBER_KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, 120 + ((kill * 53) % 90)));
      const at = kill % members.length;
      members[at]?.kill("SIGKILL");
      members[at] = start(`m${at}-${kill}`, SKEWS[at] ?? 0);
      if (kill % (MEMBER_KILLS / SERVER_KILLS) !== 3) continue;
      await server.kill();
      await server.restart();
    }
    for (const endMs = Date.now() + 60_000; Date.now() < endMs; await new Promise((resolve) => setTimeout(resolve, 50))) {
      const progress = await backend.progress(STREAM, GROUP).catch(() => []);
      if (progress.length > 0 && progress.every(({ frontier, highWatermark }) => frontier === highWatermark)) break;
    }
    for (const member of members) {
      member.kill("SIGKILL");
      await once(member, "exit");
    }
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([
      { frontier: EVENTS / 2, highWatermark: EVENTS / 2 },
      { frontier: EVENTS / 2, highWatermark: EVENTS / 2 },
    ]);
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 0, deadLetters: 0, retrying: 0 });
    const acked = said.filter(({ state }) => state === "acked").map(({ partition, sequence }) => `${partition}/${sequence}`);
    expect(new Set(acked).size).toBe(acked.length);
    expect(acked.length).toBeGreaterThan(EVENTS / 2);
    // "settled" is the answer to a repeated ack whose first answer was lost; a stale one of another kind lost its delivery to somebody else
    for (const { state, why } of said) expect(state === "acked" || why === "reclaimed" || why === "settled").toBe(true);
    // the server's clock, whatever the member's (F6)
    for (const { leasedAtMs } of said) expect(Math.abs(leasedAtMs - startMs)).toBeLessThan(3_600_000);
    await backend.close();
    await server.stop();
  });
});
