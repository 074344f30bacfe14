import type {
  Backend,
  ExchangeAnswer,
  ExchangeRequest,
  GroupRecord,
  RenewAnswer,
  RenewRequest,
  SettleOutcome,
} from "./backend.ts";
import type { Clock } from "./clock.ts";
import type { Emit, Hears } from "./events.ts";
import type { Outcome } from "./outcome.ts";

/**
 * What the sibling packages need of an instance beyond its public face: batches without an object per lease. Everything here
 * tells `rheo.events` the same as the public calls do.
 */
export interface RheoInternals {
  readonly backend: Backend;
  /** For timers and durations: the injected clock, or the host's. */
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly emit: Emit;
  readonly hears: Hears;
  /** The group, read at most once in a few seconds. @throws stream_not_found, group_not_found */
  group(stream: string, group: string): Promise<GroupRecord>;
  partitionsOf(stream: string): Promise<number>;
  exchange(request: ExchangeRequest): Promise<ExchangeAnswer>;
  renew(request: RenewRequest): Promise<RenewAnswer>;
  /** An outcome with its delay decided by the group's policy (T3). */
  resolveOutcome(outcome: Outcome, group: GroupRecord, attempt: number): SettleOutcome;
}

const KEY: unique symbol = Symbol("rheo.internals");

/** Gives an instance its internals; called once, by the constructor. */
export const attachInternals = (owner: object, internals: RheoInternals): void =>
  void Object.defineProperty(owner, KEY, { value: internals, enumerable: false });

/** The internals of an open instance. @throws TypeError - not a Rheo of this copy of the package */
export const internalsOf = (rheo: object): RheoInternals => {
  const internals: unknown = Reflect.get(rheo, KEY);
  if (internals === undefined)
    throw new TypeError("Expected an open Rheo from this copy of @rheo/core (is it installed twice?).");
  return internals as RheoInternals; // only attachInternals writes this key
};
