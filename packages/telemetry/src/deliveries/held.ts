/** Deliveries remembered at most, over all groups: those of the oldest leases are forgotten first, which nobody may ever settle. */
const MOST = 200_000;

/** Names what was leased together: within a group, a token is of one fetch from one partition (F1). */
export const heldKey = (stream: string, group: string, partition: number, token: number): string =>
  `${stream}/${group}/${partition}/${token}`;

/** Deliveries of one grant: an item for each, by sequence, until it is taken. */
interface HeldGrant<Item> {
  readonly sequences: readonly number[];
  readonly items: (Item | undefined)[];
  open: number;
}

/** Something about each delivery between its lease and what became of it. Bounded. */
export class Held<Item> {
  readonly #onForgotten: (item: Item) => void;
  readonly #most: number;
  /** A fetch may bring several grants of one token: first attempts, and others. */
  readonly #keys = new Map<string, HeldGrant<Item>[]>();
  #size = 0;

  /** @param onForgotten - called for each delivery of which nothing more was heard */
  constructor(onForgotten: (item: Item) => void, most: number = MOST) {
    this.#onForgotten = onForgotten;
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  /** `sequences` rise; where there is nothing to remember, `items` is undefined. It takes both arrays for its own. */
  put(key: string, sequences: readonly number[], items: (Item | undefined)[]): void {
    const open = items.reduce((sum, item) => (item === undefined ? sum : sum + 1), 0);
    if (open === 0) return;
    const known = this.#keys.get(key);
    if (known === undefined) this.#keys.set(key, [{ sequences, items, open }]);
    else known.push({ sequences, items, open });
    this.#size += open;
    while (this.#size > this.#most && this.#keys.size > 1) this.#forgetOldest();
  }

  get(key: string, sequence: number): Item | undefined {
    for (const { sequences, items } of this.#keys.get(key) ?? []) {
      const item = items[placeOf(sequences, sequence)];
      if (item !== undefined) return item;
    }
    return undefined;
  }

  take(key: string, sequence: number): Item | undefined {
    const known = this.#keys.get(key);
    if (known === undefined) return undefined;
    for (const grant of known) {
      const place = placeOf(grant.sequences, sequence);
      const item = grant.items[place];
      if (item === undefined) continue;
      grant.items[place] = undefined;
      grant.open -= 1;
      this.#size -= 1;
      if (grant.open === 0 && known.every(({ open }) => open === 0)) this.#keys.delete(key);
      return item;
    }
    return undefined;
  }

  /** Forgets everything. */
  clear(): void {
    while (this.#keys.size > 0) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [key, grants] of this.#keys) {
      this.#keys.delete(key);
      for (const { items, open } of grants) {
        this.#size -= open;
        for (const item of items) if (item !== undefined) this.#onForgotten(item);
      }
      return;
    }
  }
}

/** Where a sequence is among rising ones, most of which follow upon each other; -1 when it is not there. */
const placeOf = (sequences: readonly number[], sequence: number): number => {
  const direct = sequence - (sequences[0] ?? sequence);
  if (sequences[direct] === sequence) return direct;
  let low = 0;
  let high = sequences.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = sequences[middle] ?? sequence;
    if (found === sequence) return middle;
    if (found < sequence) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
};
