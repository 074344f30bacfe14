import type { RenewAnswer, RenewRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { lookUpGroup } from "./read.ts";
import type { Store } from "./schema.ts";

export const renew = (store: Store, request: RenewRequest, nowMs: number): RenewAnswer => {
  const group = lookUpGroup(store, request.stream, request.group);
  if (group === null)
    return { expiresAtMs: nowMs, stale: request.items.map(({ sequences }) => sequences.map(() => "gone" as const)) };
  return progress.renew(group, request, nowMs);
};
