import type { RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { LmdbProgressStore } from "./progress-store.ts";
import type { Unit } from "./session.ts";

/** Each: how many deliveries were re-opened. @throws stream_not_found, group_not_found */

export const replay = (unit: Unit, request: ReplayRequest): number =>
  within(unit, request.stream, request.group, (store) => progress.replay(store, request));

export const reset = (unit: Unit, stream: string, group: string, start: ResolvedStart): number =>
  within(unit, stream, group, (store) => progress.reset(store, start));

export const redrive = (unit: Unit, request: RedriveRequest): number =>
  within(unit, request.stream, request.group, (store) => progress.redrive(store, request));

const within = (
  { environment, catalog }: Unit,
  stream: string,
  group: string,
  work: (store: LmdbProgressStore) => number,
): number => {
  const store = new LmdbProgressStore(environment, catalog.requireGroup(stream, group));
  const count = work(store);
  store.finish();
  return count;
};
