/** What V8's sampling profiler found, as a tree of calls with their times. */
import type { Profiler } from "node:inspector";

/** A function where it was called from. */
export interface Frame {
  readonly name: string;
  /** Where it is: the script's URL, empty for what is built in. */
  readonly url: string;
  /** Microseconds in it and in what it called. */
  totalUs: number;
  readonly children: Map<string, Frame>;
}

const IDLE = "(idle)";
/** The profiler's own beginning and end. */
const INSPECTOR = "node:inspector";

export interface Profile {
  readonly root: Frame;
  /** Of the time looked at, in which the thread had nothing to do; 0–1. Not in the tree. */
  readonly idle: number;
}

const frame = (name: string, url: string): Frame => ({ name, url, totalUs: 0, children: new Map() });

export const readProfile = ({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Profile => {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const root = frame("all", "");
  let idleUs = 0;
  for (const [index, sample] of samples.entries()) {
    const us = timeDeltas[index] ?? 0;
    const path: Profiler.ProfileNode[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const node = known.get(id);
      if (node !== undefined && node.callFrame.functionName !== "(root)") path.unshift(node);
    }
    if (path[0]?.callFrame.functionName === IDLE) {
      idleUs += us;
      continue;
    }
    if (path.some(({ callFrame }) => callFrame.url.startsWith(INSPECTOR))) continue;
    root.totalUs += us;
    let at = root;
    for (const { callFrame } of path) {
      const name = callFrame.functionName || "(anonymous)";
      const key = `${name} ${callFrame.url}:${callFrame.lineNumber}`;
      const next = at.children.get(key) ?? frame(name, callFrame.url);
      at.children.set(key, next);
      next.totalUs += us;
      at = next;
    }
  }
  return { root, idle: idleUs / Math.max(1, idleUs + root.totalUs) };
};
