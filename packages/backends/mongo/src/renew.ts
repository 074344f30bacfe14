import type { RenewAnswer, RenewRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { compute, findRecords, type Work } from "./operate.ts";
import { flush } from "./records/flush.ts";
import type { GroupRecords } from "./records/group-records.ts";
import { refuse, type Store, type Unit } from "./store.ts";
import { once } from "./transaction.ts";

/** Where the group or its stream is gone, so are its leases. As in `fetch.ts`: hopefully first, then in one snapshot. */
export const renew = (store: Store, request: RenewRequest): Promise<RenewAnswer> =>
  store.lanes.run(`${request.stream}/${request.group}`, async () => {
    const patience = store.patience();
    for (;;) {
      try {
        const hoped = await hopefully(store, request);
        return hoped ?? (await once(store.database, (session) => inSnapshot(store.unitOf(session), request)));
      } catch (error) {
        await patience.wait(error).catch(refuse);
      }
    }
  });

/** Null: not all are renewed, which is not told of on hearsay, or it depends on more than the records it changes. */
const hopefully = async (store: Store, request: RenewRequest): Promise<RenewAnswer | null> => {
  const records = await findRecords(store.plain, request.stream, request.group);
  if (typeof records === "string") return null;
  const answer = await compute(store.plain, records, work(request));
  if (records.counted.size > 0) return null;
  if (answer.stale.some((item) => item.some((why) => why !== null))) return null;
  await once(store.database, (session) => flush(store.unitOf(session), records));
  return answer;
};

const inSnapshot = async (unit: Unit, request: RenewRequest): Promise<RenewAnswer> => {
  const records = await findRecords(unit, request.stream, request.group);
  if (typeof records === "string") return gone(request, await unit.store.now(unit.within));
  const answer = await compute(unit, records, work(request));
  await flush(unit, records);
  return answer;
};

const work =
  (request: RenewRequest): Work<RenewAnswer> =>
  (store, records) => {
    if (revives(records, request)) records.counted.add(request.consumerId);
    return progress.renew(store, request, records.nowMs);
  };

/** Whether a lease that had run out comes back to life: then its member no longer holds alone what else it holds (T5). */
const revives = ({ partitions, nowMs }: GroupRecords, { items }: RenewRequest): boolean =>
  items.some(({ partition, token }) => {
    const part = partitions[partition];
    if (part === undefined) return false;
    const exceptions = [...part.exceptions.current()];
    return (
      part.leases.some((lease) => lease.token === token && lease.expiresAtMs <= nowMs) ||
      exceptions.some((exception) => exception.token === token && (exception.dueAtMs ?? nowMs) <= nowMs)
    );
  });

const gone = ({ items, leaseMs }: RenewRequest, nowMs: number): RenewAnswer => ({
  expiresAtMs: nowMs + (leaseMs ?? 0),
  stale: items.map(({ sequences }) => sequences.map(() => "gone" as const)),
});
