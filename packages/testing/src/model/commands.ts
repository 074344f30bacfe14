import fc from "fast-check";

/** What may happen, as plain data. Numbers choose among what there is at that moment, so that a shrunk run still makes sense. */
export type Command =
  | { readonly kind: "append"; readonly partition: number; readonly key: string | null; readonly count: number }
  | { readonly kind: "fetch"; readonly group: number; readonly member: number; readonly limit: number }
  /** Settles one of all leases ever given: current, late, settled before, or of a group that is gone. */
  | {
      readonly kind: "settle";
      readonly pick: number;
      readonly how: "ack" | "nack" | "reject" | "release";
      readonly delayMs: number;
    }
  /** Settles everything that a member still remembers, in one batch. */
  | { readonly kind: "settleAll"; readonly group: number; readonly member: number; readonly how: "ack" | "nack" }
  | { readonly kind: "forge"; readonly pick: number; readonly by: number }
  | { readonly kind: "renew"; readonly pick: number; readonly lengthMs: number }
  | { readonly kind: "advance"; readonly ms: number }
  /** Renews what a member remembers, just in time, and as often. */
  | { readonly kind: "hold"; readonly group: number; readonly member: number; readonly times: number }
  /** What a member holds is never settled by it. */
  | { readonly kind: "crash"; readonly member: number }
  /** Fetches, dies, comes again when its leases have run out, and dies again. */
  | {
      readonly kind: "crashLoop";
      readonly group: number;
      readonly member: number;
      readonly limit: number;
      readonly times: number;
    }
  | { readonly kind: "replay"; readonly group: number; readonly after: number; readonly partition: number | null }
  | { readonly kind: "replayKey"; readonly group: number; readonly key: string }
  | { readonly kind: "reset"; readonly group: number; readonly after: number }
  | { readonly kind: "redrive"; readonly group: number; readonly pick: number | null }
  | { readonly kind: "pause"; readonly group: number }
  | { readonly kind: "resume"; readonly group: number }
  | { readonly kind: "recreate"; readonly group: number }
  | { readonly kind: "trim"; readonly keepLast: number; readonly force: boolean }
  | { readonly kind: "reopen" };

export const PARTITIONS = 2;
export const MEMBERS = 3;
export const LEASE_MS = 1_000;
const KEYS = ["k1", "k2", null] as const;

const pick = fc.nat(1_000);
const group = fc.nat(1);
const member = fc.nat(MEMBERS - 1);
const partition = fc.nat(PARTITIONS - 1);
const record = <Kind extends Command["kind"]>(
  kind: Kind,
  fields: {
    [Name in Exclude<keyof Extract<Command, { kind: Kind }>, "kind">]: fc.Arbitrary<Extract<Command, { kind: Kind }>[Name]>;
  },
): fc.Arbitrary<Command> => fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Command>; // exactly the fields of that kind

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: record("append", { partition, key: fc.constantFrom(...KEYS), count: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 8, arbitrary: record("fetch", { group, member, limit: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 10,
    arbitrary: record("settle", {
      pick,
      how: fc.constantFrom("ack", "ack", "nack", "reject", "release"),
      delayMs: fc.constantFrom(0, 1, LEASE_MS, LEASE_MS * 3),
    }),
  },
  { weight: 3, arbitrary: record("settleAll", { group, member, how: fc.constantFrom("ack", "nack") }) },
  { weight: 2, arbitrary: record("forge", { pick, by: fc.constantFrom(-2, -1, 1, 2, 1_000_000) }) },
  { weight: 2, arbitrary: record("renew", { pick, lengthMs: fc.constantFrom(1, LEASE_MS, LEASE_MS * 2) }) },
  { weight: 6, arbitrary: record("advance", { ms: fc.constantFrom(1, LEASE_MS / 2, LEASE_MS, LEASE_MS * 2, LEASE_MS * 5) }) },
  { weight: 2, arbitrary: record("crash", { member }) },
  { weight: 1, arbitrary: record("hold", { group, member, times: fc.constantFrom(1, 3, 12) }) },
  {
    weight: 3,
    arbitrary: record("crashLoop", {
      group,
      member,
      limit: fc.integer({ min: 1, max: 6 }),
      times: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: record("replay", { group, after: fc.nat(8), partition: fc.option(partition) }) },
  { weight: 1, arbitrary: record("replayKey", { group, key: fc.constantFrom("k1", "k2") }) },
  { weight: 1, arbitrary: record("reset", { group, after: fc.nat(8) }) },
  { weight: 1, arbitrary: record("redrive", { group, pick: fc.option(pick) }) },
  { weight: 1, arbitrary: record("pause", { group }) },
  { weight: 2, arbitrary: record("resume", { group }) },
  { weight: 1, arbitrary: record("recreate", { group }) },
  { weight: 1, arbitrary: record("trim", { keepLast: fc.nat(6), force: fc.boolean() }) },
  { weight: 1, arbitrary: record("reopen", {}) },
);

/** The most commands of one run. */
const MAX_COMMANDS = 60;

/** What happens to two groups, of which one keeps the order of keys. */
export interface Script {
  /** Of each group. So few that a lease which runs out can be the last. */
  readonly maxAttempts: readonly [plain: number, ordered: number];
  readonly commands: readonly Command[];
}

const maxAttempts = fc.integer({ min: 1, max: 4 });

export const scripts: fc.Arbitrary<Script> = fc.record({
  maxAttempts: fc.tuple(maxAttempts, maxAttempts),
  commands: fc.array(command, { minLength: 1, maxLength: MAX_COMMANDS, size: "max" }),
});
