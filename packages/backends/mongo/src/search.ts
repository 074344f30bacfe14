/** Queries that filter where the events are. */
import type { SearchAnswer, SearchRequest } from "@rheo/core";
import { partitionAt, requireStream } from "./catalog.ts";
import { cutToBytes, readMatching, sequenceAtTime } from "./events.ts";
import { filterQuery } from "./filter-query.ts";
import type { Unit } from "./store.ts";

const NONE: SearchAnswer = { events: [], passed: null, ended: true };

/**
 * At most `examine` sequences are looked at, so that one call stays short however rare the matches are.
 * @throws stream_not_found
 */
export const search = async (unit: Unit, request: SearchRequest): Promise<SearchAnswer> => {
  const { streamId: stream } = await requireStream(unit, request.stream);
  const { partition, order, limit, maxBytes, fromMs, toMs, examine, filter } = request;
  const state = await partitionAt(unit, stream, partition);
  if (state === null) return NONE;
  const first = fromMs === null ? state.firstSequence : await sequenceAtTime(unit, stream, state, fromMs);
  const lowest = Math.max(state.firstSequence - 1, first - 1, request.after);
  const highest = Math.min(state.highWatermark, request.until ?? state.highWatermark);
  const after = order === "asc" ? lowest : Math.max(lowest, highest - examine);
  const until = order === "asc" ? Math.min(highest, lowest + examine) : highest;
  if (after >= until) return NONE;
  const slice = { stream, partition, after, until, order, limit, maxBytes };
  const found = await readMatching(unit, slice, { fromMs, toMs, query: filterQuery(filter) });
  const events = cutToBytes(found, maxBytes);
  if (events.length < found.length || found.length === limit)
    return { events, passed: events[events.length - 1]?.sequence ?? null, ended: false };
  const passed = order === "asc" ? until : after + 1;
  return { events, passed, ended: order === "asc" ? until === highest : after === lowest };
};
