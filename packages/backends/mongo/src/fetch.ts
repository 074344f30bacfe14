import type { ExchangeAnswer, ExchangeRequest, FetchRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { type Missed, missingError } from "./catalog.ts";
import { isConflict, isNetwork } from "./errors.ts";
import { compute, findRecords } from "./operate.ts";
import { flush } from "./records/flush.ts";
import type { GroupRecords } from "./records/group-records.ts";
import type { MongoProgressStore } from "./records/progress-store.ts";
import { isDoubtful, settleAll } from "./settle.ts";
import { refuse, type Store, type Unit } from "./store.ts";
import { once } from "./transaction.ts";

/** Conflicts after which a fetch tries one partition at a time: somebody's transaction may be open in one of those it chose. */
const NARROW_AFTER = 5;
/** Conflicts after which a fetch is left for later, so that settlements that come with it are not held up. */
const LEAVE_AFTER = 8;

const EMPTY: ExchangeAnswer = { settled: [], grants: [], more: false, died: [] };
const LEFT_FOR_LATER: ExchangeAnswer = { ...EMPTY, more: true };

interface Run {
  readonly answer: ExchangeAnswer;
  readonly turn: progress.Turn;
}

/**
 * Settles, then fetches. Everything is read without a transaction first: where there is nothing to write, nothing is written. What is to be
 * written is, in one short transaction, if nobody has changed the same meanwhile; else it begins again. Where the answer depends on more than
 * the records it changes, it is found and written in one snapshot.
 */
export const exchange = (store: Store, request: ExchangeRequest): Promise<ExchangeAnswer> =>
  store.lanes.run(`${request.stream}/${request.group}`, () => exchangeInTurn(store, request));

const exchangeInTurn = async (store: Store, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  const patience = store.patience();
  const seen: Seen = { records: null, committed: () => undefined };
  for (let { fetch } = request; ; ) {
    try {
      const answer = await hopefully(store, { ...request, fetch }, seen);
      seen.committed();
      return fetch === request.fetch ? answer : { ...answer, more: true };
    } catch (error) {
      const isTooMuch = patience.failures >= LEAVE_AFTER || patience.isOver;
      const isLeft = fetch !== null && isTooMuch && isConflict(error) && !isNetwork(error);
      if (isLeft && request.settlements.length === 0) return LEFT_FOR_LATER;
      if (isLeft) fetch = null;
      await patience.wait(error).catch(refuse);
      if (fetch !== null && patience.failures >= NARROW_AFTER) fetch = narrowed(fetch, seen.records, store.random);
    }
  }
};

/** What the last try worked on. */
interface Seen {
  records: GroupRecords | null;
  /** What is to be kept in mind once it is committed. */
  committed: () => void;
}

/** Another fetch is in the way in one of these partitions: one is tried, by chance. */
const narrowed = (fetch: FetchRequest, records: GroupRecords | null, random: () => number): FetchRequest => {
  const changed = (records?.partitions ?? []).flatMap(({ isChanged, state }) => (isChanged ? state.partition : []));
  const partition = changed[Math.floor(random() * changed.length)];
  return partition === undefined ? fetch : { ...fetch, partitions: [partition] };
};

const hopefully = async (store: Store, request: ExchangeRequest, seen: Seen): Promise<ExchangeAnswer> => {
  const records = await findRecords(store.plain, request.stream, request.group);
  if (typeof records === "string") return missing(request, records);
  const answer = await computeInto(seen, store.plain, records, request);
  if (needsSnapshot(records, answer)) return once(store.database, (session) => inSnapshot(store.unitOf(session), request, seen));
  if (records.isChanged) await once(store.database, (session) => flush(store.unitOf(session), records));
  return answer;
};

const inSnapshot = async (unit: Unit, request: ExchangeRequest, seen: Seen): Promise<ExchangeAnswer> => {
  const records = await findRecords(unit, request.stream, request.group);
  if (typeof records === "string") return missing(request, records);
  const answer = await computeInto(seen, unit, records, request);
  if (records.isChanged) await flush(unit, records);
  return answer;
};

/** In the caller's transaction: there is no fetch. */
export const settleWithin = (unit: Unit, request: ExchangeRequest): Promise<ExchangeAnswer> =>
  inSnapshot(unit, { ...request, fetch: null }, { records: null, committed: () => undefined });

const computeInto = async (seen: Seen, unit: Unit, records: GroupRecords, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  const { memory } = unit.store;
  const { answer, turn } = await compute(unit, records, work(unit.store, request));
  const { group } = records.group;
  // a busy member is not written down with every fetch
  if (records.touched !== null && memory.isFresh(group, records.touched, records.nowMs)) records.touched = null;
  const { touched, nowMs } = records;
  seen.records = records;
  seen.committed = () => {
    if (request.fetch !== null) memory.putTurn(group, turn);
    if (touched !== null) memory.touched(group, touched, nowMs);
  };
  return answer;
};

const missing = ({ stream, group, settlements, fetch }: ExchangeRequest, what: Missed): ExchangeAnswer => {
  if (fetch === null) return { ...EMPTY, settled: progress.allGone(settlements) };
  throw missingError(what, stream, group);
};

const work =
  ({ memory }: Store, { settlements, fetch }: ExchangeRequest) =>
  (store: MongoProgressStore, records: GroupRecords): Run => {
    const turn = { ...memory.turn(records.group.group) };
    const settled = settleAll(store, records, settlements);
    records.isBounded = fetch !== null && records.group.record.options.maxInflight !== null;
    const claimed = fetch === null ? EMPTY : progress.claim(store, fetch, records.nowMs, turn);
    return { answer: { ...claimed, settled }, turn };
  };

/** What was looked at over all partitions could change in one that is not written; and a stale lease is not told of on hearsay. */
const needsSnapshot = (records: GroupRecords, { settled }: ExchangeAnswer): boolean => {
  if (settled.some(isDoubtful)) return true;
  if (!records.isChanged) return false;
  return records.counted.size > 0 || records.isBounded;
};
