/** Records by sequence: an array in order, found by halving. Near the ends, where almost all changes are, both are quick. */
export class Sorted<Item extends { readonly sequence: number }> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | null {
    return this.#items[0] ?? null;
  }

  get(sequence: number): Item | null {
    const item = this.#items[this.#indexOf(sequence)];
    return item?.sequence === sequence ? item : null;
  }

  put(item: Item): void {
    const index = this.#indexOf(item.sequence);
    const replaces = this.#items[index]?.sequence === item.sequence ? 1 : 0;
    this.#items.splice(index, replaces, item);
  }

  delete(sequence: number): void {
    const index = this.#indexOf(sequence);
    if (this.#items[index]?.sequence === sequence) this.#items.splice(index, 1);
  }

  values(): readonly Item[] {
    return this.#items;
  }

  /** Those above `sequence`, at most `limit`. */
  after(sequence: number, limit: number): readonly Item[] {
    const start = this.#indexOf(sequence + 1);
    return this.#items.slice(start, start + limit);
  }

  deleteAbove(sequence: number): void {
    this.#items.splice(this.#indexOf(sequence + 1));
  }

  /** Position of the first item at or above `sequence`. */
  #indexOf(sequence: number): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#items[middle]?.sequence ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
