/** One look at a group. Counts are of deliveries, rates per second since the look before; null when there was none. */
export interface Point extends Counts {
  readonly atMs: number;
  /** How fast the frontier moved; 0 when it moved back. */
  readonly settledPerSecond: number | null;
  readonly appendedPerSecond: number | null;
}

interface Counts {
  readonly lag: number;
  readonly inflight: number;
  readonly retrying: number;
  readonly deadLetters: number;
}

/** Where a group stood: sums over its partitions. */
interface Position {
  readonly atMs: number;
  readonly frontier: number;
  readonly highWatermark: number;
}

/** Points of one group: five minutes at the usual pace. */
const MOST_POINTS = 150;

/** The latest points of one group, oldest first. */
export class History {
  readonly #points: Point[] = [];
  #position: Position | null = null;

  get points(): readonly Point[] {
    return this.#points;
  }

  get latest(): Point | null {
    return this.#points.at(-1) ?? null;
  }

  add(position: Position, { lag, inflight, retrying, deadLetters }: Counts): void {
    const before = this.#position;
    this.#position = position;
    const { atMs, frontier, highWatermark } = position;
    const settledPerSecond = perSecond(before?.frontier, frontier, before, atMs);
    const appendedPerSecond = perSecond(before?.highWatermark, highWatermark, before, atMs);
    this.#points.push({ atMs, lag, inflight, retrying, deadLetters, settledPerSecond, appendedPerSecond });
    if (this.#points.length > MOST_POINTS) this.#points.shift();
  }
}

/** How much a count grew in a second, to one place; null when that cannot be said, 0 when it shrank. */
export const perSecond = (
  from: number | undefined,
  to: number,
  before: { readonly atMs: number } | null,
  atMs: number,
): number | null => {
  if (from === undefined || before === null || atMs <= before.atMs) return null;
  return Math.round((Math.max(0, to - from) * 10_000) / (atMs - before.atMs)) / 10;
};
