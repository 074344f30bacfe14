/** Where one story plays, and how it is reported. */
import { type Rheo, RheoError } from "@rheo/core";
import type { StepReport, StoryReport } from "./report.ts";
import { allOk } from "./step.ts";

export interface Stage {
  readonly url: string;
  /** A stream of this story's own. */
  readonly stream: string;
  /** Leave the stream in the store. */
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

/** On disposal removes the story's stream, however far the story got. */
export const clearing = (rheo: Rheo, { stream, keep }: Stage): AsyncDisposable => ({
  [Symbol.asyncDispose]: async () => {
    if (keep) return;
    await rheo.deleteStream(stream, { confirm: true }).catch((error: unknown) => {
      if (!RheoError.is(error, "stream_not_found")) throw error;
    });
  },
});

export const storyReport = (
  { killed, killAt, outcome }: Pick<StoryReport, "killed" | "killAt" | "outcome">,
  steps: readonly StepReport[],
): StoryReport => ({ killed, killAt, ok: allOk(steps), ms: steps.reduce((sum, { ms }) => sum + ms, 0), outcome, steps });
