/** What appending to a single server and to a Cluster share. */
import { type AppendRequest, RheoError } from "@rheo/core";
import type { Shards } from "./shards.ts";
import type { Stream } from "./streams.ts";

/** Events and bytes of one script, unless one request has more: it is all or nothing (L5). */
const CHUNK_EVENTS = 1_000;
const CHUNK_BYTES = 1_048_576;

/** Null: there is none. */
export const findStream = async (shards: Shards, name: string): Promise<Stream | null> => {
  try {
    return await shards.streams.find(name);
  } catch (error) {
    if (RheoError.is(error, "stream_not_found")) return null;
    throw error;
  }
};

/** As many requests as go into one script; those that were routed otherwise are for later. */
export const chunkOf = (requests: readonly AppendRequest[], partitions: number): AppendRequest[] => {
  const chunk: AppendRequest[] = [];
  let events = 0;
  let bytes = 0;
  for (const request of requests) {
    events += request.events.length;
    for (const event of request.events) bytes += event.bytes;
    if (chunk.length > 0 && (events > CHUNK_EVENTS || bytes > CHUNK_BYTES || request.partitions !== partitions)) break;
    chunk.push(request);
  }
  return chunk;
};

export const usedUp = (stream: string, partition: number): RheoError =>
  new RheoError(
    "unavailable",
    `Partition ${partition} of "${stream}" has used up its sequences: the last is ${Number.MAX_SAFE_INTEGER}. Append to another partition or stream. Nothing was written.`,
    { stream, partition },
  );
