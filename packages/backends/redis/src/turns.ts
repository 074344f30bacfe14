/** Fairness of fetches over partitions and between due and new deliveries (G3, G4), for each group that this process has fetched for. */

export interface Turn {
  readonly partition: number;
  readonly streak: number;
}

/** Groups remembered; losing a turn costs nothing but fairness. */
const KEPT = 10_000;
const FIRST: Turn = { partition: 0, streak: 0 };

export class Turns {
  readonly #turns = new Map<string, Turn>();

  of(stream: string, group: string): Turn {
    return this.#turns.get(`${stream}/${group}`) ?? FIRST;
  }

  forget(stream: string, group: string): void {
    this.#turns.delete(`${stream}/${group}`);
  }

  put(stream: string, group: string, turn: Turn): void {
    if (this.#turns.size >= KEPT) this.#turns.clear();
    this.#turns.set(`${stream}/${group}`, turn);
  }
}

/** What a look at a partition found. */
interface Candidate {
  readonly partition: number;
  readonly backlog: boolean;
  readonly due: boolean;
  readonly expired: boolean;
}

/** After this many fetches that put due deliveries first, one rotates plainly and keeps half of itself for new events. */
const DUE_STREAK = 3;

/** The order in which one fetch on a Cluster visits partitions: the twin of `turn` in core's progress; scripts have it in `claim.lua.ts`. */
export const nextVisit = <Found extends Candidate>(
  candidates: readonly Found[],
  turn: Turn,
  partitions: number,
): { readonly candidates: readonly Found[]; readonly reserveHalf: boolean; readonly turn: Turn } => {
  const isDue = ({ due, expired }: Candidate): boolean => due || expired;
  const contested = candidates.some(isDue) && candidates.some(({ backlog }) => backlog);
  const dueFirst = contested && turn.streak < DUE_STREAK;
  const streak = dueFirst ? turn.streak + 1 : 0;
  const reserveHalf = contested && !dueFirst;
  if (candidates.length === 1) return { candidates, reserveHalf, turn: { ...turn, streak } };
  const start = turn.partition % partitions;
  const isLater = ({ partition }: Candidate): boolean => partition >= start;
  const rotated = [...candidates.filter(isLater), ...candidates.filter((candidate) => !isLater(candidate))];
  if (dueFirst) {
    const sorted = [...rotated.filter(isDue), ...rotated.filter((candidate) => !isDue(candidate))];
    return { candidates: sorted, reserveHalf, turn: { ...turn, streak } };
  }
  return { candidates: rotated, reserveHalf, turn: { partition: ((rotated[0]?.partition ?? 0) + 1) % partitions, streak } };
};
