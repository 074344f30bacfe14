/** Below so many passed items an array is not worth moving. */
const MIN_PASSED = 64;

/** First in, first out, each step in constant time on average. */
export class Queue<Item> {
  #items: Item[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** The oldest item, taken out; undefined when there is none. */
  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > MIN_PASSED && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** The oldest item; undefined when there is none. */
  peek(): Item | undefined {
    return this.#items[this.#head];
  }

  /** Everything, taken out, oldest first. */
  drain(): Item[] {
    const items = this.#items.slice(this.#head);
    this.#items = [];
    this.#head = 0;
    return items;
  }
}
