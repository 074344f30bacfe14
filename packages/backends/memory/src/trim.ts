import type { TrimAnswer, TrimRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { findStream } from "./read.ts";
import type { PartitionLog, Store, Stream } from "./schema.ts";

/** Removes a prefix of each partition, with `force` also what groups have not settled (L10). */
export const trim = (store: Store, request: TrimRequest): TrimAnswer => {
  const stream = findStream(store, request.stream);
  let removed = 0;
  let heldBack = 0;
  for (const [partition, log] of stream.logs.entries()) {
    if (request.partitions !== null && !request.partitions.includes(partition)) continue;
    const wanted = lastToRemove(log, request.cut);
    const allowed = request.force ? wanted : Math.min(wanted, slowestFrontier(stream, partition));
    if (request.force) for (const group of stream.groups.values()) progress.trimProgress(group, partition, wanted);
    const gone = log.removeUpTo(allowed);
    for (const record of gone) stream.ids.delete(record.id);
    removed += gone.length;
    heldBack += Math.max(0, wanted - Math.max(allowed, log.firstSequence - 1));
  }
  return { removed, heldBack };
};

/** The last sequence that a cut removes; below the first retained one when it removes nothing. */
const lastToRemove = (log: PartitionLog, cut: TrimRequest["cut"]): number => {
  switch (cut.kind) {
    case "sequence":
      return Math.min(cut.before - 1, log.highWatermark);
    case "time":
      return log.sequenceAtTime(cut.beforeMs) - 1;
    case "keep":
      return log.highWatermark - cut.last;
    default:
      return cut satisfies never;
  }
};

const slowestFrontier = (stream: Stream, partition: number): number => {
  let slowest = Number.POSITIVE_INFINITY;
  for (const group of stream.groups.values()) slowest = Math.min(slowest, progress.frontier(group, partition));
  return slowest;
};
