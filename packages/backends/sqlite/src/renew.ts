import type { RenewAnswer, RenewRequest } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { findGroup } from "./tables/groups.ts";
import type { Unit } from "./transaction.ts";

/** Where the group or its stream is gone, so are its leases. */
export const renew = (unit: Unit, request: RenewRequest, memory: Memory): RenewAnswer => {
  const group = findGroup(unit.sql, request.stream, request.group);
  if (typeof group !== "string") return progress.renew(new SqliteProgressStore(unit, group, memory.touches), request, unit.nowMs);
  const stale = request.items.map(({ sequences }) => sequences.map(() => "gone" as const));
  return { expiresAtMs: unit.nowMs + (request.leaseMs ?? 0), stale };
};
