import type { EventRecord, NamePage, ReadRequest, StreamRecord, Watermark } from "@rheo/core";
import * as events from "./tables/events.ts";
import { findStream, partitionAt, requireStream, streamsAfter, watermarksOf } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

export const getStream = ({ sql }: Unit, name: string): StreamRecord | null => findStream(sql, name)?.record ?? null;

export const listStreams = ({ sql }: Unit, { after, limit }: NamePage): StreamRecord[] => streamsAfter(sql, after, limit);

/** @throws stream_not_found */
export const watermarks = ({ sql }: Unit, stream: string): Watermark[] => watermarksOf(sql, requireStream(sql, stream).streamId);

/** @throws stream_not_found */
export const read = ({ sql }: Unit, request: ReadRequest): EventRecord[] => {
  const { streamId } = requireStream(sql, request.stream);
  const { partition, after, order, limit, maxBytes } = request;
  const { largestBytes } = partitionAt(sql, streamId, partition);
  const until = request.until ?? Number.MAX_SAFE_INTEGER;
  return events.readSlice(sql, { streamId, partition, after, until, order, limit, maxBytes, largestBytes });
};

/** @throws stream_not_found */
export const readIds = ({ sql }: Unit, stream: string, ids: readonly string[]): (EventRecord | null)[] => {
  const found = events.readIds(sql, requireStream(sql, stream).streamId, ids);
  return ids.map((id) => found.get(id) ?? null);
};
