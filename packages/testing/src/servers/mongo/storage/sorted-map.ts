/** Values by text keys in their order. Blocks keep an insert cheap however many there are. */
const MAX_BLOCK = 512;

interface Block<V> {
  readonly keys: string[];
  readonly values: V[];
}

export class SortedMap<V> {
  #blocks: Block<V>[] = [{ keys: [], values: [] }];

  set(key: string, value: V): void {
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    if (block === undefined) return;
    const place = lowerBound(block.keys, key);
    if (block.keys[place] === key) block.values[place] = value;
    else {
      block.keys.splice(place, 0, key);
      block.values.splice(place, 0, value);
      if (block.keys.length > MAX_BLOCK) this.#split(at, block, place === block.keys.length - 1);
    }
  }

  delete(key: string): void {
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    if (block === undefined) return;
    const place = lowerBound(block.keys, key);
    if (block.keys[place] !== key) return;
    block.keys.splice(place, 1);
    block.values.splice(place, 1);
    if (block.keys.length === 0 && this.#blocks.length > 1) this.#blocks.splice(at, 1);
  }

  /** From `lower` on and before `upper`, or the same backwards. Nothing may be changed meanwhile. */
  *range(lower: string, upper: string, backwards = false): Generator<readonly [string, V]> {
    if (backwards) yield* this.#down(lower, upper);
    else yield* this.#up(lower, upper);
  }

  *#up(lower: string, upper: string): Generator<readonly [string, V]> {
    for (let at = this.#blockOf(lower); at < this.#blocks.length; at++) {
      const { keys, values } = this.#blocks[at] as Block<V>;
      for (let place = lowerBound(keys, lower); place < keys.length; place++) {
        const key = keys[place] as string;
        if (key >= upper) return;
        yield [key, values[place] as V];
      }
    }
  }

  *#down(lower: string, upper: string): Generator<readonly [string, V]> {
    for (let at = this.#blockOf(upper); at >= 0; at--) {
      const { keys, values } = this.#blocks[at] as Block<V>;
      for (let place = lowerBound(keys, upper) - 1; place >= 0; place--) {
        const key = keys[place] as string;
        if (key < lower) return;
        yield [key, values[place] as V];
      }
    }
  }

  /** The last block that begins at or before the key; the first when none does. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#blocks[middle]?.keys[0] ?? "") <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Where keys come in their order, full blocks stay full. */
  #split(at: number, block: Block<V>, atEnd: boolean): void {
    const from = atEnd ? block.keys.length - 1 : block.keys.length >> 1;
    this.#blocks.splice(at + 1, 0, { keys: block.keys.splice(from), values: block.values.splice(from) });
  }
}

const lowerBound = (keys: readonly string[], key: string): number => {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
};
