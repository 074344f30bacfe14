import type { TrimRequest, TrimStep } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { findStream } from "./read.ts";
import type { Store, Stream } from "./schema.ts";

/** Removes a prefix of each partition, with `force` also what groups have not settled (L10). */
export const trim = (store: Store, request: TrimRequest): TrimStep => {
  const stream = findStream(store, request.stream);
  let removed = 0;
  let heldBack = 0;
  for (const [partition, log] of stream.logs.entries()) {
    if (request.partitions !== null && !request.partitions.includes(partition)) continue;
    const wanted = progress.lastToTrim(log, request.cut, (timeMs) => log.sequenceAtTime(timeMs));
    const allowed = request.force ? wanted : Math.min(wanted, slowestFrontier(stream, partition));
    const last = Math.max(allowed, log.firstSequence - 1);
    removed += last + 1 - log.firstSequence;
    heldBack += Math.max(0, wanted - last);
    if (request.dryRun) continue;
    if (request.force) for (const group of stream.groups.values()) progress.trimProgress(group, partition, wanted);
    for (const record of log.removeUpTo(allowed)) stream.ids.delete(record.id);
  }
  return { removed, heldBack, more: false };
};

const slowestFrontier = (stream: Stream, partition: number): number => {
  let slowest = Number.POSITIVE_INFINITY;
  for (const group of stream.groups.values()) slowest = Math.min(slowest, progress.frontier(group, partition));
  return slowest;
};
