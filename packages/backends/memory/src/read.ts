import type { EventRecord, NamePage, ReadRequest } from "@rheo/core";
import { compareText, groupNotFound, streamNotFound } from "@rheo/core/internal";
import { cutToBytes, type GroupProgress } from "./progress-store.ts";
import type { Store, Stream } from "./schema.ts";

/** @throws stream_not_found */
export const findStream = (store: Store, name: string): Stream => {
  const stream = store.streams.get(name);
  if (stream === undefined) throw streamNotFound(name);
  return stream;
};

/** @throws stream_not_found, then group_not_found (G5) */
export const findGroup = (store: Store, stream: string, name: string): GroupProgress => {
  const group = findStream(store, stream).groups.get(name);
  if (group === undefined) throw groupNotFound(stream, name);
  return group;
};

/** The group, or null when it or its stream is gone. */
export const lookUpGroup = (store: Store, stream: string, name: string): GroupProgress | null =>
  store.streams.get(stream)?.groups.get(name) ?? null;

export const read = (store: Store, request: ReadRequest): EventRecord[] => {
  const log = findStream(store, request.stream).logs[request.partition];
  if (log === undefined) return [];
  const until = request.until ?? Number.POSITIVE_INFINITY;
  return cutToBytes(log.slice(request.after, until, request.limit, request.order === "desc"), request.maxBytes);
};

export const readIds = (store: Store, stream: string, ids: readonly string[]): (EventRecord | null)[] => {
  const found = findStream(store, stream).ids;
  return ids.map((id) => found.get(id) ?? null);
};

/** A page of what has a name, by name. */
export const pageByName = <Item>(items: ReadonlyMap<string, Item>, { after, limit }: NamePage): Item[] =>
  [...items]
    .filter(([name]) => after === null || compareText(name, after) > 0)
    .sort(([a], [b]) => compareText(a, b))
    .slice(0, limit)
    .map(([, item]) => item);
