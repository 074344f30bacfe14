/** One look at a group, nearly all of it in memory: which partitions have anything to claim. */
import type { Candidate, Survey } from "@rheo/core/internal";
import type { GroupState } from "./catalog.ts";
import type { Environment } from "./environment.ts";
import type { PartState } from "./part-state.ts";
import { nextDueMs } from "./tables/exceptions.ts";

/** Cost: the partitions of the group, and a seek in each whose next exception may be due. */
export const surveyGroup = (
  environment: Environment,
  group: GroupState,
  nowMs: number,
  partitions: readonly number[] | null,
): Survey => {
  const candidates: Candidate[] = [];
  let inflight = 0;
  let alone = false;
  for (let partition = 0; partition < group.partitions; partition++) {
    const part = group.part(partition);
    inflight += part.inflight(nowMs);
    alone ||= part.alone;
    if (partitions !== null && !partitions.includes(partition)) continue;
    const backlog = part.head.cursor < group.stream.partition(partition).highWatermark;
    const exceptions = part.counts.exceptions > 0;
    const due = exceptions && isDue(environment, group.groupId, partition, part, nowMs);
    const expired = part.hasExpired(nowMs);
    if (backlog || due || expired || exceptions) candidates.push({ partition, backlog, due, expired, exceptions });
  }
  return { candidates, inflight, alone };
};

const isDue = (environment: Environment, groupId: number, partition: number, part: PartState, nowMs: number): boolean => {
  if (part.dueBoundMs > nowMs) return false;
  const next = nextDueMs(environment, { groupId, partition });
  part.dueBoundMs = next ?? Number.POSITIVE_INFINITY;
  return next !== null && next <= nowMs;
};
