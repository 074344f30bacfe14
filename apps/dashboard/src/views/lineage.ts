/** What led to an event and what followed from it, as lines of one tree each under its cause. */
import type { LineageNode } from "@rheo/core";
import { ProblemError } from "../http/problem.ts";
import { type EventLine, eventLine } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface LineageView {
  readonly lines: readonly (EventLine & { readonly depth: number; readonly isThis: boolean })[];
  /** There are more events of this correlation. */
  readonly isCut: boolean;
}

/** Events of one correlation that are gathered: what can be taken in at a glance, and some. */
const MOST_EVENTS = 200;

export const lineage: View = {
  everyMs: 10_000,
  isHeavy: true,
  prepare: (params: Params, { rheo }: Sources) => {
    const stream = params.required("stream");
    const id = params.required("id");
    return async (): Promise<LineageView> => {
      const found = await rheo.lineageOf(stream, id, { limit: MOST_EVENTS });
      if (found === null)
        throw new ProblemError("not_found", `Stream "${stream}" has no event "${id}". It may have been trimmed.`);
      return { lines: linesOf(found.roots, found.event.id, stream), isCut: found.truncated };
    };
  },
};

/** Depth first, without recursion: a chain of causes may be as long as the lineage. */
const linesOf = (roots: readonly LineageNode[], id: string, stream: string): LineageView["lines"] => {
  const lines: LineageView["lines"][number][] = [];
  const ahead = roots.map((node) => ({ node, depth: 0 })).reverse();
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    const { node, depth } = next;
    const { event } = node;
    lines.push({ ...eventLine(event), depth, isThis: event.id === id && event.stream === stream });
    for (const effect of [...node.effects].reverse()) ahead.push({ node: effect, depth: depth + 1 });
  }
  return lines;
};
