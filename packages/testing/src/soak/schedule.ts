import { type Random, seeded } from "../random.ts";

/**
 * - `kill`: SIGKILL of a child
 * - `stop`: SIGSTOP of a child, SIGCONT after `ms`
 * - `block`: the event loop of a child stands still for `ms`
 * - `roll`: SIGHUP of the parent: all children are replaced
 * - `orphan`: SIGKILL of the parent; another one is started
 * - `cut`: all connections to the server are cut
 * - `server-kill`: SIGKILL of the server, which is started again after `ms`
 * - `link-…`: for `ms` the link of one host to the server is down, loses what is sent one way, or is slow
 */
export const FAULT_KINDS = [
  "kill",
  "stop",
  "block",
  "roll",
  "orphan",
  "cut",
  "server-kill",
  "link-down",
  "link-drop-out",
  "link-drop-in",
  "link-slow",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Since the beginning. */
  readonly atMs: number;
  /** In [0, 1): which of the children there are then. */
  readonly pick: number;
  /** How long it lasts; 0 where that has no meaning. */
  readonly ms: number;
}

/** The mean time between two faults of a kind, in ms, at pace 1. */
const EVERY_MS: Readonly<Record<FaultKind, number>> = {
  kill: 7_000,
  stop: 9_000,
  block: 11_000,
  roll: 40_000,
  orphan: 90_000,
  cut: 13_000,
  "server-kill": 30_000,
  "link-down": 12_000,
  "link-drop-out": 14_000,
  "link-drop-in": 14_000,
  "link-slow": 14_000,
};
/** The first of each kind comes in this part of the run, so that a short run has all of them. */
const FIRST = { from: 0.1, to: 0.6 };

/** Faults that last. */
const LASTING: readonly FaultKind[] = ["stop", "block", "link-down", "link-drop-out", "link-drop-in", "link-slow"];
/** How long a server is away: not at all, and longer than a lease. */
const SERVER_AWAY = { min: 0, leases: 1.6 };

/** Shorter than a lease, longer than one, longer than a parent waits. */
const lengths = (leaseMs: number, hangMs: number): readonly number[] => [leaseMs / 3, leaseMs * 1.6, hangMs * 1.5];

export interface ScheduleOptions {
  readonly seed: number;
  readonly durationMs: number;
  /** How often, as a multiple: 2 is twice as many faults. */
  readonly pace: number;
  readonly leaseMs: number;
  readonly hangMs: number;
  readonly kinds: readonly FaultKind[];
}

/** What goes wrong, in the order of its time: the same for the same options. */
export const schedule = ({ seed, durationMs, pace, leaseMs, hangMs, kinds }: ScheduleOptions): readonly Fault[] => {
  const random = seeded(seed);
  const lengthOf = (kind: FaultKind): number => {
    if (kind === "server-kill") return random.pick([SERVER_AWAY.min, SERVER_AWAY.leases * leaseMs]);
    return LASTING.includes(kind) ? Math.round(random.pick(lengths(leaseMs, hangMs))) : 0;
  };
  // drawn for all, so that a seed does the same whatever else is switched off
  const faults = FAULT_KINDS.flatMap((kind) =>
    timesOf(random, durationMs, EVERY_MS[kind] / pace).map((atMs) => ({ kind, atMs, pick: random.next(), ms: lengthOf(kind) })),
  );
  return faults.filter(({ kind }) => kinds.includes(kind)).sort((a, b) => a.atMs - b.atMs);
};

const timesOf = (random: Random, durationMs: number, everyMs: number): readonly number[] => {
  const times: number[] = [];
  let atMs = durationMs * (FIRST.from + (FIRST.to - FIRST.from) * random.next());
  atMs = Math.min(atMs, everyMs);
  for (; atMs < durationMs; atMs += everyMs * (0.5 + random.next())) times.push(Math.round(atMs));
  return times;
};
