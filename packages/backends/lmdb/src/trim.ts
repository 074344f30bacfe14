import type { TrimRequest, TrimStep } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { LmdbProgressStore } from "./progress-store.ts";
import { logOf } from "./read.ts";
import type { Unit } from "./session.ts";
import { blocksUpTo, type Log, readForward, removeBlock, sequenceAtTime } from "./tables/events.ts";
import { removeId } from "./tables/ids.ts";
import { putPartition } from "./tables/streams.ts";

/** Events removed by one step: some 20 ms in which others wait. */
const STEP = 10_000;

/** Events whose ids are looked at together, and their bytes. */
const PAGE = 1_000;
const PAGE_BYTES = 4_194_304;

/** Removes a prefix of each partition, with `force` also what groups have not settled (L10). @throws stream_not_found */
export const trim = ({ environment, catalog }: Unit, request: TrimRequest): TrimStep => {
  const stream = catalog.requireStream(request.stream);
  const groups = catalog.groupsOf(stream).map((group) => new LmdbProgressStore(environment, group));
  let removed = 0;
  let heldBack = 0;
  let more = false;
  for (let partition = 0; partition < stream.record.partitions; partition++) {
    if (request.partitions !== null && !request.partitions.includes(partition)) continue;
    const state = stream.partition(partition);
    const log = logOf(stream, partition);
    const due = progress.lastToTrim(state, request.cut, (timeMs) => sequenceAtTime(environment, log, timeMs));
    const kept = state.firstSequence - 1;
    const frontiers = request.force ? [] : groups.map((group) => progress.frontier(group, partition));
    const allowed = Math.max(kept, Math.min(due, ...frontiers));
    heldBack += due - allowed;
    const last = request.dryRun ? allowed : Math.min(allowed, kept + STEP - removed);
    removed += last - kept;
    more ||= last < allowed;
    if (last === kept || request.dryRun) continue;
    if (request.force) for (const group of groups) progress.trimProgress(group, partition, last);
    removeUpTo({ environment }, log, last);
    const next = { ...state, firstSequence: last + 1 };
    putPartition(environment, stream.streamId, next);
    stream.know(next);
    stream.tails.delete(partition);
  }
  for (const group of groups) group.finish();
  return { removed, heldBack, more };
};

/** A block goes when the last of it does; an id goes with its event. */
const removeUpTo = ({ environment }: Pick<Unit, "environment">, log: Log, last: number): void => {
  for (let after = log.firstSequence - 1; after < last; ) {
    const page = readForward(environment, log, { after, until: last, limit: PAGE, maxBytes: PAGE_BYTES });
    for (const { id } of page) removeId(environment, log.streamId, id);
    after = page[page.length - 1]?.sequence ?? last;
  }
  for (const end of blocksUpTo(environment, log, last)) removeBlock(environment, log, end);
};
