import type { Verdict } from "./judge.ts";

/** What a door answered, counted. */
export class Counts {
  readonly #counts: Record<Verdict["kind"], number> = { value: 0, refused: 0, waits: 0, fault: 0 };
  readonly #codes = new Map<string, number>();

  add(verdict: Verdict): void {
    this.#counts[verdict.kind] += 1;
    if (verdict.kind === "refused") this.#codes.set(verdict.code, (this.#codes.get(verdict.code) ?? 0) + 1);
  }

  get calls(): number {
    return Object.values(this.#counts).reduce((sum, count) => sum + count, 0);
  }

  of(kind: Verdict["kind"]): number {
    return this.#counts[kind];
  }

  /** Refusals by code, most first. */
  get codes(): readonly (readonly [string, number])[] {
    return [...this.#codes].sort((a, b) => b[1] - a[1]);
  }
}
