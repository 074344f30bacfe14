/** What is done one after another to get somewhere, and then at once. */
import fc from "fast-check";

export type RaceOp =
  /** `ids`: what is appended; those that are there already are answered with what is stored. */
  | { readonly kind: "append"; readonly ids: readonly number[] }
  | { readonly kind: "fetch"; readonly consumerId: string; readonly limit: number }
  /** Settles what the `pick`th grant so far gave, and fetches in the same step when there is a `limit`. */
  | {
      readonly kind: "settle";
      readonly pick: number;
      readonly how: "ack" | "retry" | "reject" | "release";
      readonly limit: number | null;
    }
  | { readonly kind: "renew"; readonly pick: number }
  | { readonly kind: "replay"; readonly after: number }
  | { readonly kind: "redrive" }
  | { readonly kind: "reset" }
  | { readonly kind: "trim"; readonly last: number };

/** Time passes only between the steps of a setup. */
export type SetupStep = RaceOp | { readonly kind: "advance"; readonly ms: number };

export const LEASE_MS = 1_000;
/** Small, so that ids and keys meet. */
const IDS = 12;
const MAX_SETUP = 10;

const op: fc.Arbitrary<RaceOp> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("append" as const), ids: fc.array(fc.nat(IDS), { minLength: 1, maxLength: 4 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("fetch" as const),
      consumerId: fc.constantFrom("a", "b"),
      limit: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      pick: fc.nat(20),
      how: fc.constantFrom("ack" as const, "ack" as const, "retry" as const, "reject" as const, "release" as const),
      limit: fc.option(fc.integer({ min: 1, max: 4 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("renew" as const), pick: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replay" as const), after: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("redrive" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("trim" as const), last: fc.nat(6) }) },
);

const step: fc.Arbitrary<SetupStep> = fc.oneof(
  { weight: 5, arbitrary: op },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(1, LEASE_MS, 2 * LEASE_MS) }) },
);

export interface Race {
  readonly ordering: "none" | "key";
  readonly setup: readonly SetupStep[];
  /** At once, each by another handle in turn. */
  readonly ops: readonly RaceOp[];
}

export const races: fc.Arbitrary<Race> = fc.record({
  ordering: fc.constantFrom("none" as const, "key" as const),
  setup: fc
    .array(step, { maxLength: MAX_SETUP, size: "max" })
    .map((steps): SetupStep[] => [{ kind: "append", ids: [100, 101, 102] }, ...steps]),
  ops: fc.array(op, { minLength: 2, maxLength: 3 }),
});
