/** Fairness over partitions (G3) and between due and new deliveries (G4). */
import type { Candidate } from "./records.ts";

/** Fairness that outlives a call, kept by the backend for each group it has seen. Losing it costs nothing but fairness. */
export interface Turn {
  /** Where the next fetch in plain rotation begins, so that partitions take turns (G3). */
  partition: number;
  /** Fetches in a row that looked for due deliveries first while new events waited (G4). */
  dueStreak: number;
}

export const newTurn = (): Turn => ({ partition: 0, dueStreak: 0 });

/** After this many fetches that put due deliveries first, one rotates plainly and keeps half of itself for new events. */
const DUE_STREAK = 3;

/** The order in which one fetch visits partitions, and whether it keeps half of itself for new events. */
export interface Visit<Found = Candidate> {
  readonly candidates: readonly Found[];
  readonly reserveHalf: boolean;
}

/** What of a candidate decides when it is visited. */
type Standing = Omit<Candidate, "exceptions">;

const isDue = (candidate: Standing): boolean => candidate.due || candidate.expired;

/** Decides the visit and moves the turn on. */
export const nextVisit = <Found extends Standing>(candidates: readonly Found[], turn: Turn, partitions: number): Visit<Found> => {
  const contested = candidates.some(isDue) && candidates.some((candidate) => candidate.backlog);
  const dueFirst = contested && turn.dueStreak < DUE_STREAK;
  turn.dueStreak = dueFirst ? turn.dueStreak + 1 : 0;
  const reserveHalf = contested && !dueFirst;
  if (candidates.length === 1) return { candidates, reserveHalf };
  const start = turn.partition % partitions;
  const isLater = ({ partition }: Standing): boolean => partition >= start;
  const rotated = [...candidates.filter(isLater), ...candidates.filter((candidate) => !isLater(candidate))];
  if (dueFirst)
    return { candidates: [...rotated.filter(isDue), ...rotated.filter((candidate) => !isDue(candidate))], reserveHalf };
  turn.partition = ((rotated[0]?.partition ?? 0) + 1) % partitions;
  return { candidates: rotated, reserveHalf };
};

/** Groups remembered before all are forgotten. */
const TURNS_KEPT = 10_000;
const FIRST: Readonly<Turn> = Object.freeze(newTurn());

/** The turns of the groups that a process has fetched for, where a twin decides them and answers with the next. */
export class Turns {
  readonly #turns = new Map<string, Readonly<Turn>>();

  of(stream: string, group: string): Readonly<Turn> {
    return this.#turns.get(`${stream}/${group}`) ?? FIRST;
  }

  put(stream: string, group: string, turn: Readonly<Turn>): void {
    if (this.#turns.size >= TURNS_KEPT) this.#turns.clear();
    this.#turns.set(`${stream}/${group}`, turn);
  }

  forget(stream: string, group: string): void {
    this.#turns.delete(`${stream}/${group}`);
  }
}
