import type { EventQuery, RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { loadMatching } from "./matching.ts";
import { change } from "./operate.ts";
import type { Store } from "./store.ts";

/** Each: how many deliveries were re-opened. @throws stream_not_found, group_not_found */

export const replay = (store: Store, request: ReplayRequest): Promise<number> => {
  const { stream, group, scope, partitions } = request;
  const query = scope.kind === "query" ? scope.query : null;
  const simple = query === null ? request : { ...request, scope: { kind: "query", query: withoutConditions(query) } as const };
  return change(
    store,
    stream,
    group,
    (records) => progress.replay(records, simple),
    (unit, records) => loadMatching(unit, records, query, partitions),
  );
};

/** What is left of it once its conditions were looked at. */
const withoutConditions = (query: EventQuery): EventQuery => ({ ...query, filter: null, fromMs: null, toMs: null });

export const reset = (store: Store, stream: string, group: string, start: ResolvedStart): Promise<number> =>
  change(
    store,
    stream,
    group,
    (records) => progress.reset(records, start),
    (unit, records) => loadMatching(unit, records, null, null),
  );

export const redrive = (store: Store, request: RedriveRequest): Promise<number> =>
  change(store, request.stream, request.group, (records) => progress.redrive(records, request));
