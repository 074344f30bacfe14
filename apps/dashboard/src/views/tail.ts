import type { EventLine } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface TailView {
  readonly stream: string;
  /** The latest events, newest first. */
  readonly events: readonly EventLine[];
  /** Events that came since somebody watches, and of those how many came too fast to be shown. */
  readonly seen: number;
  readonly skipped: number;
}

/** The newest events of a stream, as they come. */
export const tail: View = {
  everyMs: 1_000,
  isHeavy: false,
  prepare: (params: Params, { tails }: Sources) => {
    const stream = params.required("stream");
    return (): Promise<TailView> => tails.read(stream);
  },
};
