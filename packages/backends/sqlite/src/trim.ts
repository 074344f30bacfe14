import type { TrimRequest, TrimStep } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { sequenceAtTime } from "./tables/events.ts";
import { groupsOf } from "./tables/groups.ts";
import { partitionAt, requireStream } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

const DELETE = "DELETE FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence <= ?";
const RAISE = "UPDATE rheo_partitions SET first_sequence = ? WHERE stream_id = ? AND partition = ?";

/** Events removed by one step: some 20 ms in which others wait for the write lock. */
const STEP = 10_000;

/** Removes a prefix of each partition, with `force` also what groups have not settled (L10). @throws stream_not_found */
export const trim = (unit: Unit, request: TrimRequest, memory: Memory): TrimStep => {
  const { sql } = unit;
  const { streamId, record } = requireStream(sql, request.stream);
  const groups = groupsOf(sql, request.stream, streamId).map((row) => new SqliteProgressStore(unit, row, memory.touches));
  let removed = 0;
  let heldBack = 0;
  let more = false;
  for (let partition = 0; partition < record.partitions; partition++) {
    if (request.partitions !== null && !request.partitions.includes(partition)) continue;
    const row = partitionAt(sql, streamId, partition);
    const due = progress.lastToTrim(row, request.cut, (timeMs) => sequenceAtTime(sql, streamId, partition, row, timeMs));
    const kept = row.firstSequence - 1;
    const frontiers = request.force ? [] : groups.map((group) => progress.frontier(group, partition));
    const allowed = Math.max(kept, Math.min(due, ...frontiers));
    heldBack += due - allowed;
    const last = request.dryRun ? allowed : Math.min(allowed, kept + STEP - removed);
    removed += last - kept;
    more ||= last < allowed;
    if (last === kept || request.dryRun) continue;
    if (request.force) for (const group of groups) progress.trimProgress(group, partition, last);
    sql.run(DELETE, streamId, partition, last);
    sql.run(RAISE, last + 1, streamId, partition);
  }
  return { removed, heldBack, more };
};
