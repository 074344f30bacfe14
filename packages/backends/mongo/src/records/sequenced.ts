/** Records of one kind in one partition, by sequence: those that were loaded, and over them what an operation has changed. */
import { Intervals } from "./intervals.ts";

/** Beyond every sequence. */
const END = Number.POSITIVE_INFINITY;

export class Sequenced<Item extends { readonly sequence: number }> {
  readonly #loaded = new Map<number, Item>();
  readonly #known = new Intervals();
  readonly #changes = new Map<number, Item | null>();
  /** What was loaded above this is gone. */
  #clearedAbove = END;

  /** Notes that these are all there are in (after, until]. */
  load(items: readonly Item[], after: number, until: number): void {
    for (const item of items) this.#loaded.set(item.sequence, item);
    this.#known.add(after + 1, until);
  }

  /** Notes what stands at these sequences. */
  loadAt(items: readonly Item[], sequences: readonly number[]): void {
    for (const item of items) this.#loaded.set(item.sequence, item);
    for (const sequence of sequences) this.#known.add(sequence, sequence);
  }

  /** Undefined: not loaded. */
  get(sequence: number): Item | null | undefined {
    const changed = this.#changes.get(sequence);
    if (changed !== undefined) return changed;
    if (sequence > this.#clearedAbove) return null;
    return this.#loaded.get(sequence) ?? (this.#known.has(sequence) ? null : undefined);
  }

  /** Those above `after`, at most `limit`; a number: what is above that must be loaded first. */
  after(after: number, limit: number): readonly Item[] | number {
    const end = after >= this.#clearedAbove ? END : this.#reach(after);
    if (end === null) return after;
    const found = [...this.current()].filter(({ sequence }) => sequence > after && sequence <= end);
    if (found.length < limit && end !== END) return end;
    return found.sort((a, b) => a.sequence - b.sequence).slice(0, limit);
  }

  #reach(after: number): number | null {
    const end = this.#known.endFrom(after + 1);
    return end !== null && end >= this.#clearedAbove ? END : end;
  }

  /** Whether everything is loaded. */
  get isWhole(): boolean {
    return this.#reach(0) === END;
  }

  /** All that is known to be there, in no order. */
  *current(): Generator<Item> {
    for (const item of this.#changes.values()) if (item !== null) yield item;
    for (const [sequence, item] of this.#loaded) if (sequence <= this.#clearedAbove && !this.#changes.has(sequence)) yield item;
  }

  put(item: Item): void {
    this.#changes.set(item.sequence, item);
  }

  delete(sequence: number): void {
    this.#changes.set(sequence, null);
  }

  clearAbove(sequence: number): void {
    this.#clearedAbove = Math.min(this.#clearedAbove, sequence);
    for (const changed of [...this.#changes.keys()]) if (changed > sequence) this.#changes.delete(changed);
  }

  /** Everything above it was removed at once; null: nothing was. */
  get clearedAbove(): number | null {
    return this.#clearedAbove === END ? null : this.#clearedAbove;
  }

  /** What was put, and null for what was deleted, since. */
  get changes(): ReadonlyMap<number, Item | null> {
    return this.#changes;
  }

  /** Forgets what was changed, not what was loaded. */
  forgetChanges(): void {
    this.#changes.clear();
    this.#clearedAbove = END;
  }
}
