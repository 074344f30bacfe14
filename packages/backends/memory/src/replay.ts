import type { RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { findGroup } from "./read.ts";
import type { Store } from "./schema.ts";

export const replay = (store: Store, request: ReplayRequest): number =>
  progress.replay(findGroup(store, request.stream, request.group), request);

export const reset = (store: Store, stream: string, group: string, start: ResolvedStart): number =>
  progress.reset(findGroup(store, stream, group), start);

export const redrive = (store: Store, request: RedriveRequest): number =>
  progress.redrive(findGroup(store, request.stream, request.group), request);
