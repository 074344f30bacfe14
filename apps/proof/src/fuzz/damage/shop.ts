/** The store that is damaged: known content, in which every kind of record is there. */
import { type Lease, Rheo, reject, retry } from "@rheo/core";

export const STREAM = "orders";
/** Has settled, held, retried and buried some; what it holds runs out at once. */
export const GROUP = "billing";
/** Begins, and has a filter that looks into payloads. */
export const FILTERED = "mailing";

export const PARTITIONS = 2;
/** In each partition. */
export const EVENTS = 12;
const LEASE_MS = 50;
const FETCHED = 5;

/** Fills a store of the given URL and closes it. */
export const stockShop = async (url: string): Promise<void> => {
  const rheo = await Rheo.open(url);
  try {
    await rheo.createStream(STREAM, { partitions: PARTITIONS });
    const group = { leaseMs: LEASE_MS, maxAttempts: 2, retry: { minMs: 1, maxMs: 2 } };
    await rheo.createGroup(STREAM, GROUP, group);
    await rheo.createGroup(STREAM, FILTERED, { ...group, filter: { "payload.kind": { ne: "none" } } });
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const events = Array.from({ length: EVENTS }, (_, index) => ({
        id: `e${partition}-${index + 1}`,
        key: `k${index % 3}`,
        type: "placed",
        partition,
        payload: { kind: "order", number: index + 1 },
        metadata: { correlationId: "c" },
      }));
      await rheo.appendMany(STREAM, events);
      await leaveTraces(rheo, await rheo.fetch(STREAM, GROUP, { limit: FETCHED, partitions: [partition] }));
    }
  } finally {
    await rheo.close();
  }
};

/** One acked, one dead, one retrying; the rest stays leased. */
const leaveTraces = async (rheo: Rheo, [first, second, third]: readonly Lease[]): Promise<void> => {
  if (first === undefined || second === undefined || third === undefined) throw new Error("The shop had nothing to fetch.");
  await rheo.ack(first);
  await rheo.settle([
    { lease: second, outcome: reject("no") },
    { lease: third, outcome: retry("later", { delayMs: 1 }) },
  ]);
};
