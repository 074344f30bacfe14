import type { ExchangeAnswer, ExchangeRequest, FetchRequest } from "@rheo/core";
import { LIMITS, progress } from "@rheo/core/internal";
import { LmdbProgressStore } from "./progress-store.ts";
import type { Unit } from "./session.ts";
import { settleAll } from "./settle.ts";
import { surveyGroup } from "./survey.ts";

const EMPTY: ExchangeAnswer = { settled: [], grants: [], more: false, died: [] };

/** Settles, then fetches. `wake` is called after the commit if other members may find something now. */
export const exchange = (unit: Unit, request: ExchangeRequest, wake: () => void): ExchangeAnswer => {
  const { environment, catalog, nowMs } = unit;
  const { stream, settlements, fetch } = request;
  const group = fetch === null ? catalog.group(stream, request.group) : catalog.requireGroup(stream, request.group);
  if (group === null) return { ...EMPTY, settled: progress.allGone(settlements) };
  const store = new LmdbProgressStore(environment, group);
  const settled = settleAll(store, settlements, nowMs);
  if (progress.mayWake(settlements, group.record.options.ordering)) unit.afterCommit(wake);
  const claimed = fetch === null ? EMPTY : progress.claim(store, fetch, nowMs, group.turn);
  store.finish();
  return { ...claimed, settled };
};

/**
 * Whether a fetch could be given anything. Read only, so that an idle poll writes nothing.
 * @throws stream_not_found, group_not_found
 */
export const hasWork = ({ environment, catalog, nowMs }: Unit, stream: string, name: string, fetch: FetchRequest): boolean => {
  const group = catalog.requireGroup(stream, name);
  if (group.record.paused) return false;
  const survey = surveyGroup(environment, group, nowMs, fetch.partitions);
  const mostInflight = group.record.options.maxInflight ?? LIMITS.inflightPerPartition * group.partitions;
  return survey.candidates.length > 0 && survey.inflight < mostInflight;
};

/** What {@link hasWork} stands for when it is false. */
export const NOTHING_FETCHED: ExchangeAnswer = EMPTY;
