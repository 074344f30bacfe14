import type { TrimRequest, TrimStep } from "@rheo/core";
import { type PartitionState, progress } from "@rheo/core/internal";
import { groupsOf, partitionsOf, requireStream } from "./catalog.ts";
import { Conflict } from "./errors.ts";
import { sequenceAtTime } from "./events.ts";
import { partitionId } from "./ids.ts";
import { compute } from "./operate.ts";
import { flush } from "./records/flush.ts";
import type { GroupRecords } from "./records/group-records.ts";
import { loadGroup } from "./records/load.ts";
import type { Unit } from "./store.ts";

/** Events removed by one step: a transaction should change few thousand documents, and appends wait for it. */
const STEP = 2_000;

interface Cut {
  readonly partition: number;
  readonly before: PartitionState;
  /** The last sequence that goes. */
  readonly last: number;
}

/** Removes a prefix of each partition, with `force` also what groups have not settled (L10). @throws stream_not_found */
export const trim = async (unit: Unit, request: TrimRequest): Promise<TrimStep> => {
  const stream = await requireStream(unit, request.stream);
  const groups: GroupRecords[] = [];
  for (const group of await groupsOf(unit, stream)) {
    const records = await loadGroup(unit, group);
    if (records === null) throw new Conflict();
    groups.push(records);
  }
  const cuts: Cut[] = [];
  let removed = 0;
  let heldBack = 0;
  let more = false;
  for (const before of await partitionsOf(unit, stream)) {
    const { partition, firstSequence } = before;
    if (request.partitions !== null && !request.partitions.includes(partition)) continue;
    const due = await lastToTrim(unit, stream.streamId, before, request.cut);
    const kept = firstSequence - 1;
    const frontiers = request.force ? [] : await frontiersOf(unit, groups, partition);
    const allowed = Math.max(kept, Math.min(due, ...frontiers));
    heldBack += due - allowed;
    const last = request.dryRun ? allowed : Math.min(allowed, kept + STEP - removed);
    removed += last - kept;
    more ||= last < allowed;
    if (last > kept && !request.dryRun) cuts.push({ partition, before, last });
  }
  if (cuts.length > 0) await remove(unit, stream.streamId, groups, cuts, request.force);
  return { removed, heldBack, more };
};

const lastToTrim = async (unit: Unit, stream: number, state: PartitionState, cut: TrimRequest["cut"]): Promise<number> => {
  const atTime = cut.kind === "time" ? await sequenceAtTime(unit, stream, state, cut.beforeMs) : 0;
  return progress.lastToTrim(state, cut, () => atTime);
};

const frontiersOf = async (unit: Unit, groups: readonly GroupRecords[], partition: number): Promise<number[]> => {
  const frontiers: number[] = [];
  for (const records of groups) frontiers.push(await compute(unit, records, (store) => progress.frontier(store, partition)));
  return frontiers;
};

/** No group may go back to what is being removed: their heads are changed too. */
const remove = async (
  unit: Unit,
  stream: number,
  groups: readonly GroupRecords[],
  cuts: readonly Cut[],
  force: boolean,
): Promise<void> => {
  const { collections, within } = unit;
  for (const { partition, before, last } of cuts) {
    const where = { _id: partitionId(stream, partition), firstSequence: before.firstSequence };
    const { matchedCount } = await collections.partitions.updateOne(where, { $set: { firstSequence: last + 1 } }, within);
    if (matchedCount === 0) throw new Conflict();
    await collections.events.deleteMany({ stream, partition, sequence: { $lte: last } }, within);
  }
  for (const records of groups) {
    await compute(unit, records, (store) => {
      for (const { partition, last } of cuts) {
        records.at(partition).isFenced = true;
        if (force) progress.trimProgress(store, partition, last);
      }
    });
    await flush(unit, records);
  }
};
