/**
 * Fetch: which deliveries a member is given (G2–G4, G6–G9, T1, T4, T5). Due retries and expired leases come first, then new
 * events. One file per kind: `take-expired`, `take-due`, `take-new`; who goes first is in `turn`, ordering in `order`, last
 * attempts in `last-chance`.
 */
import type { FetchRequest } from "../backend.ts";
import { RheoError } from "../errors.ts";
import { compileFilter, type Matcher } from "../filter.ts";
import { LIMITS } from "../limits.ts";
import { clearChanceAlone, isReserved, markChanceAlone } from "./last-chance.ts";
import { keyOrder, openOrder } from "./order.ts";
import { type Claimed, Pass } from "./pass.ts";
import type { Candidate, ProgressStore } from "./records.ts";
import { takeDue } from "./take-due.ts";
import { takeExpired } from "./take-expired.ts";
import { takeNew } from "./take-new.ts";
import { nextVisit, type Turn, type Visit } from "./turn.ts";

const NOTHING: Claimed = { grants: [], died: [], more: false };

export const claim = (store: ProgressStore, request: FetchRequest, nowMs: number, turn: Turn): Claimed => {
  if (store.group.paused) return NOTHING;
  const { candidates, inflight, alone } = store.survey(nowMs, request.partitions);
  if (candidates.length === 0) return NOTHING;
  const room = (store.group.options.maxInflight ?? LIMITS.inflightPerPartition * store.partitions) - inflight;
  const pass = new Pass(store, request, nowMs, Math.min(request.limit, room));
  if (pass.isOpen && !(alone && isReserved(pass))) visitAll(pass, nextVisit(candidates, turn, store.partitions));
  if (alone) clearChanceAlone(pass);
  markChanceAlone(pass);
  return pass.finish();
};

const visitAll = (pass: Pass, { candidates, reserveHalf }: Visit): void => {
  const { filter } = pass.store.group.options;
  const matches = filter === null ? null : lenient(compileFilter(filter));
  const reserved = reserveHalf ? Math.ceil(pass.left / 2) : 0;
  for (const candidate of candidates) if (pass.isOpen) visit(pass, candidate, reserved, matches);
  if (reserved === 0) return;
  for (const candidate of candidates) if (pass.isOpen) visit(pass, candidate, 0, matches);
};

/** An event that cannot be read is offered, so that its delivery fails where all see it, and holds up no other. */
const lenient =
  (matches: Matcher): Matcher =>
  (stream, event) => {
    try {
      return matches(stream, event);
    } catch (cause) {
      if (RheoError.is(cause, "invalid_payload")) return true;
      throw cause;
    }
  };

/** Takes from one partition; `reserved` of what is left is for new events. */
const visit = (pass: Pass, candidate: Candidate, reserved: number, matches: Matcher | null): void => {
  const { partition, expired, due, exceptions, backlog } = candidate;
  const { ordering } = pass.store.group.options;
  const { nowMs, runLimit } = pass;
  const order =
    ordering === "none" ? openOrder : keyOrder(pass.store, partition, { ordering, nowMs, hasExceptions: exceptions, runLimit });
  const spare = Math.min(reserved, pass.left);
  pass.left -= spare;
  if (expired && pass.isOpen) takeExpired(pass, partition, order);
  if ((due || (ordering !== "none" && exceptions)) && pass.isOpen) takeDue(pass, partition, order);
  pass.left += spare;
  if (backlog && pass.isOpen) takeNew(pass, partition, order, matches);
};
