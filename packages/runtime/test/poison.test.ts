/**
 * Poison isolation (T5) with real processes and real threads: what kills its process, or its thread, ends as one dead letter each,
 * and what shared its fate is acked.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { supervise } from "@rheo/runtime";
import { describe, expect, test } from "vitest";
import { sharedStores } from "./shared-stores.ts";
import { fixture, record, until } from "./store.ts";

const EVENTS = 1_000;
const MAX_ATTEMPTS = 3;
const LEASE_MS = 400;
const MEMBER = fileURLToPath(fixture("poison-member.mjs"));
const OPTIONS = JSON.stringify({ concurrency: 8, maxDemand: 100, pollMs: 20 });

/** A store with a thousand events, of which some are poison, and a group. */
const prepare = async (url: string, payloadOf: (sequence: number) => unknown): Promise<Rheo> => {
  const rheo = await Rheo.open(url);
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g", {
    maxAttempts: MAX_ATTEMPTS,
    leaseMs: LEASE_MS,
    retry: { minMs: 0, maxMs: 0, jitter: 0 },
  });
  await rheo.appendMany(
    "orders",
    Array.from({ length: EVENTS }, (_, index) => ({ payload: payloadOf(index + 1) })),
  );
  return rheo;
};

interface Start {
  readonly sequence: number;
  readonly attempt: number;
}

/** A member process that is started again whenever it is killed, until it is told to end. */
const superviseMember = (url: string): { readonly starts: readonly Start[]; crashes(): number; end(): Promise<void> } => {
  const starts: Start[] = [];
  let crashes = 0;
  let isEnding = false;
  let child: ReturnType<typeof fork>;
  let onEnd = (): void => undefined;
  const start = (): void => {
    child = fork(MEMBER, [url, OPTIONS], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    let rest = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [sequence = 0, attempt = 0] = line.split(" ").map(Number);
        starts.push({ sequence, attempt });
      }
    });
    child.once("close", (_code, signal) => {
      if (signal === "SIGKILL") crashes += 1;
      if (isEnding) onEnd();
      else start();
    });
  };
  start();
  return {
    starts,
    crashes: () => crashes,
    end: async () => {
      isEnding = true;
      const ended = new Promise<void>((resolve) => {
        onEnd = resolve;
      });
      child.send("end");
      await ended;
    },
  };
};

/** The highest attempt at which each innocent event was started. */
const chargedInnocents = (starts: readonly Start[], poison: readonly number[]): readonly Start[] =>
  starts.filter(({ sequence, attempt }) => !poison.includes(sequence) && attempt > 2);

for (const { name, place } of sharedStores()) {
  describe(`on ${name}, of a thousand events`, () => {
    for (const poison of [[437], [437, 445, 901]]) {
      test(`${poison.length} that kill their process are dead letters, the others are acked, charged once at most`, async () => {
        const url = place();
        await using rheo = await prepare(url, (sequence) => ({ poison: poison.includes(sequence) }));
        const member = superviseMember(url);
        try {
          await until("the group has caught up", async () => (await rheo.lag("orders", "g")).lag === 0, 60_000);
        } finally {
          await member.end();
        }
        const letters = await rheo.deadLetters("orders", "g");
        console.log(`${name}, ${poison.length} poison: ${member.crashes()} crashes, ${member.starts.length} starts`);
        expect(letters.map(({ sequence }) => sequence).toSorted((a, b) => a - b)).toEqual(poison);
        expect(new Set(member.starts.map(({ sequence }) => sequence)).size).toBe(EVENTS);
        expect(chargedInnocents(member.starts, poison)).toEqual([]);
        expect(member.crashes()).toBeLessThanOrEqual(12 * poison.length);
      });
    }

    for (const poison of [[437], [437, 445, 901]]) {
      test(`${poison.length} that kill their thread are dead letters; no other is charged at all`, async () => {
        const url = place();
        await using rheo = await prepare(url, (sequence) =>
          poison.includes(sequence) ? { do: "exit", code: 1 } : { do: "ack" },
        );
        const [settled, failed, died] = [
          record(rheo, "lease.settled"),
          record(rheo, "handler.failed"),
          record(rheo, "thread.died"),
        ];
        await using _app = await supervise({
          rheo,
          threads: 2,
          consumers: [{ stream: "orders", group: "g", concurrency: 8, maxDemand: 100, handler: fixture("actions.mjs") }],
        });
        await until("the group has caught up", async () => (await rheo.lag("orders", "g")).lag === 0, 60_000);
        const letters = await rheo.deadLetters("orders", "g");
        expect(
          letters.map(({ sequence, attempts }) => [sequence, attempts]).toSorted((a, b) => (a[0] ?? 0) - (b[0] ?? 0)),
        ).toEqual(poison.map((sequence) => [sequence, MAX_ATTEMPTS]));
        expect(settled.reduce((sum, { acked }) => sum + acked, 0)).toBe(EVENTS - poison.length);
        expect(failed.filter(({ sequence }) => !poison.includes(sequence))).toEqual([]);
        expect(died.length).toBe(MAX_ATTEMPTS * poison.length);
      });
    }
  });
}
