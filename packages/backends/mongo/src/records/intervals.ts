/** A set of whole numbers, as ranges: what has been loaded of something that goes by sequence. */
export class Intervals {
  /** By start, neither touching nor overlapping. */
  #ranges: { readonly from: number; readonly to: number }[] = [];

  /** Both inclusive. */
  add(from: number, to: number): void {
    if (to < from) return;
    const apart = this.#ranges.filter((range) => range.to < from - 1 || range.from > to + 1);
    const joined = this.#ranges.filter((range) => range.to >= from - 1 && range.from <= to + 1);
    const start = Math.min(from, ...joined.map((range) => range.from));
    const end = Math.max(to, ...joined.map((range) => range.to));
    this.#ranges = [...apart, { from: start, to: end }].sort((a, b) => a.from - b.from);
  }

  /** The last number of the range that holds `number`; null when none does. */
  endFrom(number: number): number | null {
    return this.#ranges.find((range) => range.from <= number && number <= range.to)?.to ?? null;
  }

  has(number: number): boolean {
    return this.endFrom(number) !== null;
  }
}
