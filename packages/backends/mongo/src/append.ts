import type { AppendAnswer, AppendRequest, EventRecord } from "@rheo/core";
import { type AppendPlan, type AppendView, type PartitionState, planAppend, type StoredStream } from "@rheo/core/internal";
import { findStream, idsOfPartitions, toPartition } from "./catalog.ts";
import { Conflict, isDuplicateKey } from "./errors.ts";
import { readIds, toDocument } from "./events.ts";
import { partitionId } from "./ids.ts";
import { refuse, type Store, type Unit } from "./store.ts";
import { once } from "./transaction.ts";

/**
 * Appends in one transaction: the end of each partition is moved from where it was read, and the events are added. Who finds an end
 * moved begins again. Ids are nearly always new, so they are not looked up first: the unique index refuses one that is not, and then
 * everything is planned again with the stored events at hand. So it is when a request was to be refused, because an event that is
 * there already is answered before anything else is looked at.
 */
export const append = async (store: Store, requests: readonly AppendRequest[]): Promise<readonly AppendAnswer[]> => {
  const patience = store.patience();
  let isInformed = false;
  for (;;) {
    try {
      const plan = await planned(store.plain, requests, isInformed);
      if (isInformed || !plan.answers.some(isRefusal)) {
        if (plan.events.length > 0) await once(store.database, (session) => write(store.unitOf(session), plan));
        return plan.answers;
      }
      isInformed = true;
    } catch (error) {
      isInformed ||= isDuplicateKey(error);
      await patience.wait(error).catch(refuse);
    }
  }
};

/** In the caller's transaction, which a refused document would end: so ids are looked up first. */
export const appendWithin = async (unit: Unit, requests: readonly AppendRequest[]): Promise<readonly AppendAnswer[]> => {
  const plan = await planned(unit, requests, true);
  if (plan.events.length > 0) await write(unit, plan);
  return plan.answers;
};

/** The streams that these appends have added events to. */
export const streamsWithNew = (requests: readonly AppendRequest[], answers: readonly AppendAnswer[]): Set<string> =>
  new Set(requests.filter((_, index) => addsEvents(answers[index])).map(({ stream }) => stream));

const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);

const isRefusal = ({ kind }: AppendAnswer): boolean => kind === "id_conflict" || kind === "sequence_conflict";

/** The plan with the ends that it started from. */
interface Planned extends AppendPlan {
  readonly before: ReadonlyMap<string, PartitionState>;
}

const planned = async (unit: Unit, requests: readonly AppendRequest[], isInformed: boolean): Promise<Planned> => {
  const streams = await streamsOf(unit, requests);
  const { ends, nowMs } = await endsOf(
    unit,
    [...streams.values()].filter((stream) => stream !== null),
  );
  const view: AppendView = {
    nowMs,
    stream: (name) => streams.get(name) ?? null,
    partition: (streamId, partition) => {
      const end = ends.get(partitionId(streamId, partition));
      if (end === undefined) throw new Conflict(); // the stream was deleted meanwhile
      return end;
    },
    stored: isInformed ? await storedEvents(unit, requests, streams) : () => null,
  };
  return { ...planAppend(requests, view), before: ends };
};

const streamsOf = async (unit: Unit, requests: readonly AppendRequest[]): Promise<ReadonlyMap<string, StoredStream | null>> => {
  const streams = new Map<string, StoredStream | null>();
  for (const { stream } of requests) if (!streams.has(stream)) streams.set(stream, await findStream(unit, stream));
  return streams;
};

const endsOf = async (
  { collections, within, store }: Unit,
  streams: readonly StoredStream[],
): Promise<{ ends: ReadonlyMap<string, PartitionState>; nowMs: number }> => {
  if (streams.length === 0) return { ends: new Map(), nowMs: 0 };
  const wanted = { _id: { $in: streams.flatMap(idsOfPartitions) } };
  const { documents, nowMs } = await store.readWithTime(collections.partitions, within, wanted);
  if (nowMs === null) throw new Conflict(); // deleted meanwhile
  return { ends: new Map(documents.map((found) => [found._id, toPartition(found)])), nowMs };
};

const storedEvents = async (
  unit: Unit,
  requests: readonly AppendRequest[],
  streams: ReadonlyMap<string, StoredStream | null>,
): Promise<AppendView["stored"]> => {
  const stored = new Map<number, ReadonlyMap<string, EventRecord>>();
  for (const [name, stream] of streams) {
    if (stream === null) continue;
    const ids = requests.filter((request) => request.stream === name).flatMap(({ events }) => events.map(({ id }) => id));
    stored.set(stream.streamId, await readIds(unit, stream.streamId, ids));
  }
  return (streamId, id) => stored.get(streamId)?.get(id) ?? null;
};

/** The ends first: who comes second learns it before it has sent its events. */
const write = async ({ collections, within }: Unit, { events, partitions, before }: Planned): Promise<void> => {
  const updates = partitions.map(({ streamId, state }) => {
    const _id = partitionId(streamId, state.partition);
    const { highWatermark, latestMs, largestBytes } = state;
    return {
      updateOne: {
        filter: { _id, highWatermark: before.get(_id)?.highWatermark ?? 0 },
        update: { $set: { highWatermark, latestMs, largestBytes } },
      },
    };
  });
  const { matchedCount } = await collections.partitions.bulkWrite(updates, within);
  if (matchedCount !== updates.length) throw new Conflict();
  await collections.events.insertMany(events.map(toDocument), within);
};
