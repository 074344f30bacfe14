import type { ExchangeAnswer, ExchangeRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { findGroup, lookUpGroup } from "./read.ts";
import type { Store } from "./schema.ts";
import { settleAll } from "./settle.ts";

/** Settles, then fetches. */
export const exchange = (store: Store, request: ExchangeRequest, nowMs: number): ExchangeAnswer => {
  const { fetch } = request;
  const group =
    fetch === null ? lookUpGroup(store, request.stream, request.group) : findGroup(store, request.stream, request.group);
  const settled = settleAll(group, request.settlements, nowMs);
  if (fetch === null || group === null) return { settled, grants: [], died: [], more: false };
  return { settled, ...progress.claim(group, fetch, nowMs, group.turn) };
};
