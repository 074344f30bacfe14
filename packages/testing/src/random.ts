/** Random choices that one seed repeats. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number from 0 to `below` − 1. */
  below(below: number): number;
  chance(probability: number): boolean;
  /** One of `items`, which is not empty. */
  pick<Item>(items: readonly Item[]): Item;
}

/** Mulberry32: 32 bits of state, plenty for choosing faults. */
export const seeded = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: <Item>(items: readonly Item[]): Item => {
      const item = items[below(items.length)];
      if (item === undefined) throw new TypeError("pick() of an empty list");
      return item;
    },
  };
};
