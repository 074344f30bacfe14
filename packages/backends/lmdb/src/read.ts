import type { EventRecord, NamePage, ReadRequest, StreamRecord, Watermark } from "@rheo/core";
import type { StreamState } from "./catalog.ts";
import type { Unit } from "./session.ts";
import { type Log, readBackward, readForward, type Slice } from "./tables/events.ts";
import { placeOfId } from "./tables/ids.ts";
import { streamsAfter } from "./tables/streams.ts";

export const getStream = ({ catalog }: Unit, name: string): StreamRecord | null => catalog.stream(name)?.record ?? null;

export const listStreams = ({ environment }: Unit, { after, limit }: NamePage): StreamRecord[] =>
  streamsAfter(environment, after, limit);

/** @throws stream_not_found */
export const watermarks = ({ catalog }: Unit, name: string): Watermark[] => {
  const stream = catalog.requireStream(name);
  return Array.from({ length: stream.record.partitions }, (_, partition) => {
    const { firstSequence, highWatermark } = stream.partition(partition);
    return { partition, firstSequence, highWatermark };
  });
};

/** @throws stream_not_found */
export const read = ({ environment, catalog }: Unit, request: ReadRequest): EventRecord[] => {
  const log = logOf(catalog.requireStream(request.stream), request.partition);
  const { after, limit, maxBytes } = request;
  const slice: Slice = { after, until: request.until ?? Number.MAX_SAFE_INTEGER, limit, maxBytes };
  return request.order === "asc" ? readForward(environment, log, slice) : readBackward(environment, log, slice);
};

/** @throws stream_not_found */
export const readIds = (unit: Unit, name: string, ids: readonly string[]): (EventRecord | null)[] => {
  const stream = unit.catalog.requireStream(name);
  return ids.map((id) => eventOfId(unit, stream, id));
};

/** The stored event of an id; null when there is none. */
export const eventOfId = ({ environment }: Unit, stream: StreamState, id: string): EventRecord | null => {
  const place = placeOfId(environment, stream.streamId, id);
  if (place === null) return null;
  const one = { after: place.sequence - 1, until: place.sequence, limit: 1, maxBytes: Number.POSITIVE_INFINITY };
  return readForward(environment, logOf(stream, place.partition), one)[0] ?? null;
};

/** Where the events of a partition are. */
export const logOf = (stream: StreamState, partition: number): Log => {
  const { firstSequence, highWatermark } = stream.partition(partition);
  return { streamId: stream.streamId, partition, firstSequence, highWatermark };
};
