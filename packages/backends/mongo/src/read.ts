import type { EventRecord, ReadRequest, Watermark } from "@rheo/core";
import { partitionsOf, requireStream } from "./catalog.ts";
import * as events from "./events.ts";
import type { Unit } from "./store.ts";

/** @throws stream_not_found */
export const watermarks = async (unit: Unit, stream: string): Promise<Watermark[]> => {
  const states = await partitionsOf(unit, await requireStream(unit, stream));
  return states.map(({ partition, firstSequence, highWatermark }) => ({ partition, firstSequence, highWatermark }));
};

/** A range of an index is read in order, and events become visible in the order of their sequences, so there is never a gap (L1). @throws stream_not_found */
export const read = async (unit: Unit, request: ReadRequest): Promise<EventRecord[]> => {
  const { streamId: stream } = await requireStream(unit, request.stream);
  const { partition, after, order, limit, maxBytes } = request;
  const until = request.until ?? Number.MAX_SAFE_INTEGER;
  const found = await events.readSlice(unit, { stream, partition, after, until, order, limit, maxBytes });
  return events.cutToBytes(found, maxBytes);
};

/** @throws stream_not_found */
export const readIds = async (unit: Unit, stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> => {
  const found = await events.readIds(unit, (await requireStream(unit, stream)).streamId, ids);
  return ids.map((id) => found.get(id) ?? null);
};
