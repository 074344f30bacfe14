import type { ExchangeAnswer, ExchangeRequest, FetchRequest } from "@rheo/core";
import { groupNotFound, LIMITS, progress, streamNotFound } from "@rheo/core/internal";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { settleAll } from "./settle.ts";
import { surveyGroup } from "./survey.ts";
import { findGroup, requireGroup } from "./tables/groups.ts";
import type { Unit } from "./transaction.ts";

const EMPTY: ExchangeAnswer = { settled: [], grants: [], more: false, died: [] };

/** Settles, then fetches. `wake` is called after the commit if other members may find something now. */
export const exchange = (unit: Unit, request: ExchangeRequest, memory: Memory, wake: () => void): ExchangeAnswer => {
  const { settlements, fetch } = request;
  const group = findGroup(unit.sql, request.stream, request.group);
  if (typeof group === "string") {
    if (fetch === null) return { ...EMPTY, settled: progress.allGone(settlements) };
    throw group === "stream_not_found" ? streamNotFound(request.stream) : groupNotFound(request.stream, request.group);
  }
  const store = new SqliteProgressStore(unit, group, memory.touches);
  const settled = settleAll(store, settlements, unit.nowMs);
  if (progress.mayWake(settlements, group.record.options.ordering)) unit.afterCommit(wake);
  if (fetch === null) return { ...EMPTY, settled };
  return { settled, ...progress.claim(store, fetch, unit.nowMs, memory.turn(group.groupId)) };
};

/** What a fetch could be given: something, nothing now, or nothing until somebody writes. */
export type Prospect = "some" | "none" | "none_until_written";

/**
 * Read only, so that an idle poll takes no lock and writes nothing.
 * @throws stream_not_found, group_not_found
 */
export const prospectOf = ({ sql, nowMs }: Unit, stream: string, name: string, fetch: FetchRequest): Prospect => {
  const group = requireGroup(sql, stream, name);
  if (group.record.paused) return "none_until_written";
  const { survey, isBare } = surveyGroup(sql, group, nowMs, fetch.partitions);
  if (isBare) return "none_until_written";
  const mostInflight = group.record.options.maxInflight ?? LIMITS.inflightPerPartition * group.partitions;
  return survey.candidates.length > 0 && survey.inflight < mostInflight ? "some" : "none";
};

/** The answer where there is none. */
export const NOTHING_FETCHED: ExchangeAnswer = EMPTY;
