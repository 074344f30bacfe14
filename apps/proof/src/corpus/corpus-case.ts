/** What a case of the corpus is. */
import type { TestReference } from "./test-reference.ts";

export const EVERY_STORE = ["memory", "sqlite", "lmdb", "postgres", "redis", "mongo"] as const;

type Store = (typeof EVERY_STORE)[number];

/** What a fault can be in: a store, or what works above it. */
export type Place = Store | "runtime" | "pipeline" | "telemetry" | "cli" | "dashboard";

export interface CorpusCase {
  /** B and a number for a public fault, O and a number for one of the original. */
  readonly id: string;
  /** What goes wrong, in one line. */
  readonly kind: string;
  /** Rules of the semantics that decide it, or the part that does. */
  readonly rules: string;
  /** Where its tests must be. */
  readonly concerns: readonly Place[];
  /** Tests beside those of the contract suite that name the id themselves. */
  readonly tests: readonly TestReference[];
  /** `open`: not all of its kind is kept, or has been tried; the note says what. */
  readonly verdict: "holds" | "not ours" | "open";
  /** How a rule decides where there is a choice, or why it is not ours; may be empty. */
  readonly note: string;
}
