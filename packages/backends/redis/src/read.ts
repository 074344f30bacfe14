/** Reading the log. */
import type { EventRecord, ReadRequest, SearchAnswer, SearchRequest, Watermark } from "@rheo/core";
import { programText } from "@rheo/core/internal";
import { Ids, type Place } from "./ids.ts";
import { toRecord } from "./lines.ts";
import { LOGS } from "./program.ts";
import type { Shards } from "./shards.ts";

/** @throws stream_not_found */
export const read = async (shards: Shards, request: ReadRequest): Promise<EventRecord[]> => {
  const { stream, partition } = request;
  if (partition >= (await shards.streams.find(stream)).partitions) return [];
  const { answer } = await shards.one(LOGS.read, stream, partition, "", boundsOf(request));
  return (answer.slice(1) as string[]).map((line) => toRecord(line, partition)); // our own script wrote it
};

const boundsOf = ({ after, until, order, limit, maxBytes }: ReadRequest): (string | number)[] => [
  after,
  until ?? Number.MAX_SAFE_INTEGER,
  order,
  limit,
  maxBytes,
];

/** Looks at no more events than one script may. @throws stream_not_found */
export const search = async (shards: Shards, request: SearchRequest): Promise<SearchAnswer> => {
  const { stream, partition, filter, fromMs, toMs, examine } = request;
  if (partition >= (await shards.streams.find(stream)).partitions) return { events: [], passed: null, ended: true };
  const args = [...boundsOf(request), programText(filter) ?? "", fromMs ?? "", toMs ?? "", examine];
  const { answer } = await shards.one(LOGS.search, stream, partition, "", args);
  const [, passed, ended, ...lines] = answer;
  return {
    events: lines.map((line) => toRecord(String(line), partition)),
    passed: passed === 0 ? null : Number(passed),
    ended: ended === 1,
  };
};

/** Where events of these ids are, or were before they were trimmed. @throws stream_not_found */
export const placesOfIds = async (
  shards: Shards,
  prefix: string,
  name: string,
  ids: readonly string[],
): Promise<Map<string, Place>> => new Ids(shards, prefix, await shards.streams.find(name)).find(ids);

/** @throws stream_not_found */
export const readIds = async (
  shards: Shards,
  prefix: string,
  name: string,
  ids: readonly string[],
): Promise<(EventRecord | null)[]> => {
  await watermarks(shards, name); // whether what is known of the stream is so
  const found = new Ids(shards, prefix, await shards.streams.find(name));
  const records = await found.read(await found.find(ids));
  return ids.map((id) => records.get(id) ?? null);
};

/** One per partition, in order. @throws stream_not_found */
export const watermarks = async (shards: Shards, name: string): Promise<Watermark[]> => {
  const parts = await shards.all(LOGS.watermarks, name, "", () => []);
  return parts.flatMap(({ partitions, answer }) =>
    partitions.map((partition, at) => ({
      partition,
      firstSequence: Number(answer[1 + at * 2]),
      highWatermark: Number(answer[2 + at * 2]),
    })),
  );
};
