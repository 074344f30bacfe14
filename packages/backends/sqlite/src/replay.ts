import type { RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { requireGroup } from "./tables/groups.ts";
import type { Unit } from "./transaction.ts";

/** Each: how many deliveries were re-opened. @throws stream_not_found, group_not_found */

export const replay = (unit: Unit, request: ReplayRequest, memory: Memory): number =>
  progress.replay(storeOf(unit, request.stream, request.group, memory), request);

export const reset = (unit: Unit, stream: string, group: string, start: ResolvedStart, memory: Memory): number =>
  progress.reset(storeOf(unit, stream, group, memory), start);

export const redrive = (unit: Unit, request: RedriveRequest, memory: Memory): number =>
  progress.redrive(storeOf(unit, request.stream, request.group, memory), request);

const storeOf = (unit: Unit, stream: string, group: string, memory: Memory): SqliteProgressStore =>
  new SqliteProgressStore(unit, requireGroup(unit.sql, stream, group), memory.touches);
