/** What calls write, in entries of the tree and in transactions: it does not depend on the machine. */
import type { Backend, Grant } from "@rheo/core";
import { FrozenClock } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { acks, drain, fetching, fill, GROUP, OPTIONS, request, STREAM, settling } from "@rheo/testing/internal";
import { open } from "lmdb";
import { afterEach, expect, test, vi } from "vitest";
import { newDirectory } from "./fixtures/store.ts";

const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

interface Counts {
  readonly entries: number;
  readonly transactions: number;
}

/** A store, and what LMDB says of it: a second look at the same environment from the same process shares it. */
const start = async (): Promise<{ backend: Backend; clock: FrozenClock; counts: () => Counts }> => {
  const path = newDirectory();
  const clock = new FrozenClock();
  const backend = lmdb({ path, durability: "relaxed" });
  await backend.open({ clock, migrate: true });
  opened.push(backend);
  const counts = (): Counts => {
    const root = open({ path, noSubdir: false, keyEncoding: "binary", encoding: "binary", overlappingSync: false, noSync: true });
    root.resetReadTxn();
    const { entryCount, lastTxnId } = root.getStats() as { entryCount: number; lastTxnId: number };
    void root.close();
    return { entries: entryCount, transactions: lastTxnId };
  };
  return { backend, clock, counts };
};

const nack = (grants: readonly Grant[], delayMs: number) =>
  acks(grants).map((one) => ({ ...one, outcome: { kind: "retry", delayMs, reason: "again", stack: null } as const }));

test("a thousand events are twenty blocks, and an entry for each id", async () => {
  const { backend, counts } = await start();
  await fill(backend, 0);
  await backend.append([request(1)]);
  const before = counts();
  await backend.append([request(999)]);
  expect(counts()).toEqual({ entries: before.entries + 999 + 19, transactions: before.transactions + 1 });
});

test("single appends fill up one block", async () => {
  const { backend, counts } = await start();
  await fill(backend, 0);
  await backend.append([request(1)]);
  const before = counts();
  for (let times = 0; times < 20; times++) await backend.append([request(1)]);
  expect(counts()).toEqual({ entries: before.entries + 20, transactions: before.transactions + 20 });
});

test("a drain is one transaction for each hundred events, and leaves nothing", async () => {
  const { backend, counts } = await start();
  await fill(backend, 1_000);
  await backend.exchange(settling(acks((await backend.exchange(fetching(100))).grants)));
  const before = counts();
  expect(await drain(backend, 100)).toBe(900);
  expect(counts()).toEqual({ entries: before.entries, transactions: before.transactions + 10 });
});

test("what is not acked costs as many entries as there are, and they go with it", async () => {
  const { backend, clock, counts } = await start();
  await fill(backend, 100);
  await drain(backend, 10, 10);
  const before = counts().entries;
  const { grants } = await backend.exchange(fetching(10));
  expect(counts().entries - before).toBe(1);
  await backend.exchange(settling(nack(grants, 1_000)));
  expect(counts().entries - before).toBe(20); // the exception, and when it is due
  clock.advance(1_000);
  expect(await drain(backend, 100)).toBe(90);
  expect(counts().entries).toBe(before);
});

test("an idle poll writes nothing, and neither does a poll of what waits", async () => {
  const { backend, counts } = await start();
  await fill(backend, 30);
  const { grants } = await backend.exchange(fetching(10));
  await backend.exchange(settling(nack(grants, 60_000)));
  await backend.exchange(fetching(20));
  const before = counts();
  for (let times = 0; times < 50; times++) expect((await backend.exchange(fetching(10))).grants).toEqual([]);
  await backend.groupStats(STREAM, GROUP);
  await backend.holders(STREAM, GROUP);
  await backend.ping();
  expect(counts()).toEqual(before);
});

test("a group or stream that is deleted leaves nothing", async () => {
  const { backend, counts } = await start();
  await backend.createStream("other", 1);
  await backend.createGroup("other", GROUP, OPTIONS, { kind: "earliest" });
  await backend.deleteGroup("other", GROUP);
  const before = counts().entries;
  await fill(backend, 200);
  const { grants } = await backend.exchange(fetching(50));
  const reject = { kind: "reject", reason: "no", stack: null } as const;
  await backend.exchange(settling(acks(grants).map((one) => ({ ...one, outcome: reject }))));
  await backend.exchange(fetching(50));
  await backend.exchange(settling(nack((await backend.exchange(fetching(50))).grants, 1_000)));
  await backend.deleteGroup(STREAM, GROUP);
  await backend.deleteStream(STREAM);
  await vi.waitFor(() => expect(counts().entries).toBe(before));
});

test("the events of a deleted stream are gone at once, and removed while others work", async () => {
  const { backend, counts } = await start();
  await backend.createStream("other", 1);
  await backend.createGroup("other", GROUP, OPTIONS, { kind: "earliest" });
  await backend.deleteGroup("other", GROUP);
  const before = counts().entries;
  await fill(backend, 5_000);
  await backend.deleteStream(STREAM);
  expect(counts().entries).toBeGreaterThan(before + 1_000);
  await backend.createStream(STREAM, 1);
  expect(await backend.readIds(STREAM, ["id"])).toEqual([null]);
  await backend.close();
  await backend.open({ clock: new FrozenClock(), migrate: true });
  await vi.waitFor(() => expect(counts().entries).toBe(before + 1));
});

test("what is trimmed is gone, ids too", async () => {
  const { backend, counts } = await start();
  await fill(backend, 0);
  const before = counts().entries;
  await backend.append([request(1_000)]);
  await backend.trim({ stream: STREAM, cut: { kind: "keep", last: 0 }, partitions: null, force: true, dryRun: false });
  expect(counts().entries).toBe(before + 1); // where the partition stands
});
