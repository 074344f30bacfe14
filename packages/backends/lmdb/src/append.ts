import type { AppendAnswer, AppendRequest } from "@rheo/core";
import { type AppendPlan, type AppendView, type PlannedEvent, planAppend } from "@rheo/core/internal";
import { BLOCK_EVENTS, type StoredEvent } from "./block.ts";
import type { StreamState } from "./catalog.ts";
import { eventOfId } from "./read.ts";
import type { Unit } from "./session.ts";
import { putEvents, removeBlock } from "./tables/events.ts";
import { addId, removeId } from "./tables/ids.ts";
import { putPartition } from "./tables/streams.ts";

/** A last block with less text than this is filled up by the next append: a page is written in any case. In UTF-16 units. */
const TAIL_TEXT = 2_048;

/**
 * Ids are nearly always new, so they are not looked up first: an id that is there already is not written, and then everything is planned
 * again with the stored events at hand. So it is when a request was to be refused, because an event that is there already is answered
 * before anything else is looked at. No other writer can come in between.
 */
export const append = (unit: Unit, requests: readonly AppendRequest[]): readonly AppendAnswer[] => {
  const streams = new Map<number, StreamState>();
  const view = viewOf(unit, streams);
  const hopeful = planAppend(requests, view);
  if (!hopeful.answers.some(isRefusal) && claimIds(unit, hopeful.events)) {
    write(unit, hopeful, streams);
    return hopeful.answers;
  }
  const informed = planAppend(requests, {
    ...view,
    stored: (streamId, id) => {
      const stream = streams.get(streamId);
      return stream === undefined ? null : eventOfId(unit, stream, id);
    },
  });
  if (!claimIds(unit, informed.events)) throw new Error("an id that was not there is there");
  write(unit, informed, streams);
  return informed.answers;
};

/** The streams that these appends have added events to. */
export const streamsWithNew = (requests: readonly AppendRequest[], answers: readonly AppendAnswer[]): Set<string> =>
  new Set(requests.filter((_, index) => addsEvents(answers[index])).map(({ stream }) => stream));

const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);

const isRefusal = ({ kind }: AppendAnswer): boolean => kind === "id_conflict" || kind === "sequence_conflict";

const viewOf = ({ catalog, nowMs }: Unit, streams: Map<number, StreamState>): AppendView => ({
  nowMs,
  stored: () => null,
  stream: (name) => {
    const stream = catalog.stream(name);
    if (stream !== null) streams.set(stream.streamId, stream);
    return stream;
  },
  partition: (streamId, partition) => {
    const stream = streams.get(streamId);
    if (stream === undefined) throw new RangeError(`no stream ${streamId}`);
    return stream.partition(partition);
  },
});

/** False when one was there already: then none is written. */
const claimIds = ({ environment }: Unit, events: readonly PlannedEvent[]): boolean => {
  for (const [index, { streamId, record }] of events.entries()) {
    if (addId(environment, streamId, record.id, record)) continue;
    for (const added of events.slice(0, index)) removeId(environment, added.streamId, added.record.id);
    return false;
  }
  return true;
};

const write = ({ environment }: Unit, { events, partitions }: AppendPlan, streams: ReadonlyMap<number, StreamState>): void => {
  for (const { streamId, state } of partitions) {
    const stream = streams.get(streamId);
    if (stream === undefined) continue;
    const { partition } = state;
    const added = partitions.length === 1 ? events : events.filter((event) => isOf(event, streamId, partition));
    const place = { streamId, partition };
    const tail = stream.tails.get(partition) ?? [];
    if (tail.length > 0) removeBlock(environment, place, stream.partition(partition).highWatermark);
    const last = putEvents(environment, place, tail.length === 0 ? added : [...tail, ...added]);
    stream.tails.set(partition, isSmall(last) ? last : []);
    putPartition(environment, streamId, state);
    stream.know(state);
  }
};

const isOf = ({ streamId, record }: PlannedEvent, stream: number, partition: number): boolean =>
  streamId === stream && record.partition === partition;

const isSmall = (block: readonly StoredEvent[]): boolean => {
  if (block.length >= BLOCK_EVENTS) return false;
  let text = 0;
  for (const { record } of block) text += record.payload.length + record.metadata.length;
  return text < TAIL_TEXT;
};
