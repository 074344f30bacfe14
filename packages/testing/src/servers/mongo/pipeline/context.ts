import type { Scope } from "../expressions/scope.ts";
import type { Doc } from "../values/document.ts";

/** What a stage can use beside its documents. */
export interface StageContext {
  readonly scope: Scope;
  /** All documents of another collection of the same database. */
  read(collection: string): readonly Doc[];
  /** Runs the stages that a stage holds. */
  run(stages: readonly Doc[], docs: readonly Doc[], context: StageContext): readonly Doc[];
}
