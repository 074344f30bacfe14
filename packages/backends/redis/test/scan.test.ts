/** Fetches that look at many events: past what a filter drops and what waits behind its key, the batches are those that memory leases. */
import { type Backend, FrozenClock, type ResolvedGroupOptions } from "@rheo/core";
import { memory } from "@rheo/memory";
import { startRedis } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import { acks, event, fetching, GROUP, OPTIONS, STREAM, settling } from "./fixtures/scene.ts";
import { openStore } from "./fixtures/store.ts";

const server = await startRedis();
afterAll(() => server.stop());

const EVENTS = Array.from({ length: 3_000 }, (_, n) => ({ ...event({ even: n % 2 === 0 }), id: `event-${n}` }));
const EVEN: Partial<ResolvedGroupOptions> = { filter: { "payload.even": true } };
const ORDERED: Partial<ResolvedGroupOptions> = { ordering: "key" };

/** What each fetch is given, until there is nothing; every fifth time the leases run out. */
const drained = async (
  backend: Backend,
  options: Partial<ResolvedGroupOptions>,
  keys: number,
  limit: number,
): Promise<string[]> => {
  const clock = new FrozenClock();
  const fetches: string[] = [];
  await backend.open({ clock, migrate: true });
  await backend.createStream(STREAM, 1);
  await backend.createGroup(STREAM, GROUP, { ...OPTIONS, ...options }, { kind: "earliest" });
  const events = EVENTS.map((one, n) => ({ ...one, key: `key-${(n * 7) % keys}` }));
  await backend.append([{ stream: STREAM, partitions: 1, events }]);
  while (fetches.at(-1) !== "") {
    const { grants } = await backend.exchange(fetching(limit));
    fetches.push(grants.map((grant) => `${grant.attempt}: ${grant.events.map(({ sequence }) => sequence).join(",")}`).join("; "));
    if (fetches.length % 5 === 0) clock.advance(OPTIONS.leaseMs + 1);
    else await backend.exchange(settling(acks(grants)));
  }
  await backend.close();
  return fetches;
};

test.each([
  { name: "a filter", options: EVEN, keys: 1, limit: 400 },
  { name: "a filter, few at a time", options: EVEN, keys: 1, limit: 40 },
  { name: "many keys in order", options: ORDERED, keys: 901, limit: 700 },
  { name: "few keys in order", options: ORDERED, keys: 30, limit: 1_000 },
  { name: "a filter and keys in order", options: { ...EVEN, ...ORDERED }, keys: 301, limit: 100 },
])("$name", { timeout: 120_000 }, async ({ options, keys, limit }) => {
  const store = openStore(server.url);
  try {
    const expected = await drained(memory(), options, keys, limit);
    expect(expected.length).toBeGreaterThan(4);
    expect(await drained(store.backend, options, keys, limit)).toEqual(expected);
  } finally {
    await store.dispose?.();
  }
});
