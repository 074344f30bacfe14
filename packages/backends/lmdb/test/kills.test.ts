/** A process that owns the store is killed at any moment; the next owner finds everything that was acknowledged, and nothing half done. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Durability } from "@rheo/lmdb";
import { acks, drain, fetching, firstSeed, GROUP, OPTIONS, runs, STREAM, seeded, settling } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { kill } from "./fixtures/children.ts";
import { Ledger, PARTITIONS } from "./fixtures/ledger.ts";
import { newDirectory, openBackend } from "./fixtures/store.ts";

const VICTIM = fileURLToPath(new URL("./fixtures/victim.mjs", import.meta.url));

/** Stores, times RHEO_RUNS, and the owners of each that are killed. */
const STORES = 3;
const KILLS = 8;
/** An owner is killed within this time of having opened the store, in ms. */
const LIFE_MS = 120;
const LEASE_MS = 15;
const SEED = 700;

const ENDLESS = { ...OPTIONS, leaseMs: LEASE_MS, maxAttempts: 1_000_000 };

test("nothing acknowledged is lost, nothing settled comes again, tokens rise", { timeout: 3_600_000 }, async () => {
  const first = firstSeed(SEED);
  let events = 0;
  for (let store = 0; store < runs(STORES); store++)
    events += await killOwners(first + store * KILLS, store % 2 === 0 ? "relaxed" : "sync");
  console.log(`\n${runs(STORES) * KILLS} owners killed, ${events} events acknowledged (RHEO_SEED=${first})`);
  expect(events).toBeGreaterThan(0);
});

const killOwners = async (seed: number, durability: Durability): Promise<number> => {
  const directory = newDirectory();
  const path = join(directory, "store");
  const random = seeded(seed);
  const ledger = new Ledger();
  const fresh = await openBackend({ path, durability });
  await fresh.createStream(STREAM, PARTITIONS);
  await fresh.createGroup(STREAM, GROUP, ENDLESS, { kind: "earliest" });
  await fresh.close();
  for (let number = 0; number < KILLS; number++) {
    const file = join(directory, `told-${number}`);
    const victim = fork(VICTIM, [path, file, durability, String(seed + number)]);
    await once(victim, "message");
    await wait(random.below(LIFE_MS));
    await kill(victim);
    ledger.read(file);
    const next = await openBackend({ path, durability });
    await ledger.check(next);
    await next.close();
  }
  await finish(path, ledger);
  return ledger.appended.size;
};

/** All that is left is worked off: then everything is acked or dead. */
const finish = async (path: string, ledger: Ledger): Promise<void> => {
  const backend = await openBackend({ path });
  for (let left = 1_000; left > 0; left--) {
    const { grants } = await backend.exchange(fetching(100));
    await backend.exchange(settling(acks(grants)));
    const progress = await backend.progress(STREAM, GROUP);
    if (progress.every(({ frontier, highWatermark }) => frontier === highWatermark)) break;
    await wait(1);
  }
  expect(await drain(backend, 100)).toBe(0);
  for (const { frontier, highWatermark } of await backend.progress(STREAM, GROUP)) expect(frontier).toBe(highWatermark);
  expect((await backend.groupStats(STREAM, GROUP)).deadLetters).toBeGreaterThanOrEqual(ledger.dead.size);
  await backend.close();
};
