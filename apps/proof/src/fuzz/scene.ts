/** A small store with something of everything, and what of it can be seen. */
import { FrozenClock, type Lease, Rheo, reject, retry } from "@rheo/core";
import { GROUP, type Scene, STREAM } from "./calls.ts";

/** Where the doors are tried: stores that live in this process. */
export const STORES = ["memory:", "sqlite::memory:"] as const;
export type StoreUrl = (typeof STORES)[number];

const EVENTS = 8;

/** A new store with events of two partitions, and a group in which deliveries are acked, dead, retrying, leased and not yet offered. */
export const openScene = async (url: StoreUrl): Promise<Scene> => {
  const rheo = await Rheo.open(url, { clock: new FrozenClock(), random: () => 0.5 });
  await rheo.createStream(STREAM, { partitions: 2 });
  for (let index = 0; index < EVENTS; index++) {
    const event = {
      id: `e${index}`,
      type: "placed",
      key: `k${index % 3}`,
      payload: { total: index },
      metadata: { correlationId: "c" },
    };
    await rheo.append(STREAM, { ...event, partition: index % 2 });
  }
  await rheo.createGroup(STREAM, GROUP);
  const leases = await rheo.fetch(STREAM, GROUP, { limit: 5 });
  const [first, second, third, fourth] = leases;
  if (first !== undefined) await rheo.ack(first);
  if (second !== undefined && third !== undefined)
    await rheo.settle([
      { lease: second, outcome: reject("no") },
      { lease: third, outcome: retry("later", { delayMs: 60_000 }) },
    ]);
  const { nextCursor } = await rheo.queryPage(STREAM, { limit: 1 });
  return { rheo, lease: insist(fourth), cursor: nextCursor ?? "", eventId: second?.event.id ?? "" };
};

const insist = (lease: Lease | undefined): Lease => {
  if (lease === undefined) throw new Error("The scene has a lease left.");
  return lease;
};

/** All that can be seen of a store, as text. */
export const snapshot = async (rheo: Rheo): Promise<string> => {
  const seen: unknown[] = [];
  for (const { name } of await rheo.listStreams()) {
    seen.push(await rheo.streamInfo(name), await rheo.query(name, { limit: 1_000 }), await rheo.listIndexes(name));
    for (const group of await rheo.listGroups(name)) {
      seen.push(group, await rheo.lag(name, group.name), await rheo.explainLag(name, group.name));
      seen.push(await rheo.leases(name, group.name), await rheo.deadLetters(name, group.name));
    }
  }
  return JSON.stringify(seen);
};
