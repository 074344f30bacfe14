import type { RenewAnswer, RenewRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { LmdbProgressStore } from "./progress-store.ts";
import type { Unit } from "./session.ts";

/** Where the group or its stream is gone, so are its leases. */
export const renew = ({ environment, catalog, nowMs }: Unit, request: RenewRequest): RenewAnswer => {
  const group = catalog.group(request.stream, request.group);
  if (group === null) {
    const stale = request.items.map(({ sequences }) => sequences.map(() => "gone" as const));
    return { expiresAtMs: nowMs + (request.leaseMs ?? 0), stale };
  }
  const store = new LmdbProgressStore(environment, group);
  const answer = progress.renew(store, request, nowMs);
  store.finish();
  return answer;
};
