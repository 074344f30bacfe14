/** What may be damaged in a store, and what may come of it. */
import { EVENTS, GROUP, PARTITIONS } from "./shop.ts";
import { type GroupVisit, LAST_LETTERS, type Place, placeOf, type Visit } from "./visit.ts";

/** One way to damage a store that is reached by a `Target`. */
export interface Damage<Target> {
  readonly name: string;
  /** Events of which no content can be had: all others must flow on. Null: more was hit, and all that is promised is an answer. */
  readonly hit: readonly Place[] | null;
  readonly apply: (target: Target) => unknown;
}

/** Acked before the damage. */
const SETTLED: ReadonlySet<Place> = new Set([placeOf(0, 1), placeOf(1, 1)]);
const ALL: readonly Place[] = Array.from({ length: PARTITIONS * EVENTS }, (_, index) =>
  placeOf(index % PARTITIONS, 1 + Math.floor(index / PARTITIONS)),
);

/** What is wrong with how a damaged store was dealt with. */
export const faultsOf = (visit: Visit, hit: readonly Place[] | null): string[] => [
  ...visit.faults,
  ...(hit === null
    ? Object.entries(visit.groups).flatMap(([name, group]) => lossesOf(name, group, visit))
    : outageOf(visit, hit)),
];

/** All but what was hit is read and handled; what was hit is told. */
const outageOf = (visit: Visit, hit: readonly Place[]): string[] => {
  if (!visit.isOpen) return ["it cannot be opened"];
  const unread = ALL.filter((place) => !visit.read.has(place) && !hit.includes(place));
  const faults = unread.length === 0 ? [] : [`not read: ${unread.join(" ")}`];
  for (const [name, group] of Object.entries(visit.groups)) {
    if (group.lag !== 0) faults.push(`${name} is held up: lag ${group.lag}, not done ${undoneOf(name, group).join(" ")}`);
    const lost = undoneOf(name, group).filter((place) => !hit.includes(place));
    if (lost.length > 0) faults.push(`${name} has lost ${lost.join(" ")}`);
    faults.push(...lossesOf(name, group, visit));
    for (const place of hit)
      if (group.dead?.has(place) === true && group.dead.get(place)?.includes(place) !== true)
        faults.push(`${name}: the dead letter of ${place} does not say so`);
  }
  return faults;
};

/** What is not done is in the lag, or told as skipped, or the group has said what is wrong with it. */
const lossesOf = (name: string, group: GroupVisit, visit: Visit): string[] => {
  const undone = undoneOf(name, group);
  if (group.lag !== null && group.lag < 0) return [`${name}: lag is ${group.lag}`];
  if (group.lag === null || group.dead === null) return hasTold(name, visit) ? [] : [`${name}: nobody says what is wrong`];
  return undone.length <= group.lag + group.skipped ? [] : [`${name} lost in silence: ${undone.join(" ")}`];
};

const hasTold = (name: string, { refusals }: Visit): boolean =>
  [...refusals].some(
    (refusal) =>
      refusal.startsWith(`consuming ${name}: `) || refusal.startsWith("lag: ") || refusal.startsWith(`${LAST_LETTERS}: `),
  );

const undoneOf = (name: string, { handled, dead }: GroupVisit): Place[] =>
  ALL.filter((place) => !handled.has(place) && dead?.has(place) !== true && !(name === GROUP && SETTLED.has(place)));
