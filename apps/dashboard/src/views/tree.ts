/** The supervision tree of the process that serves the dashboard, as data for people. */
import { shortText } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

/** What has a supervision tree: `Supervisor` and `ProcessSupervisor` of `@rheo/runtime`. */
export interface TreeSource {
  readonly state?: string;
  /** What it supervises, now. */
  children(): readonly ChildLike[];
}

/** A child of a supervisor. */
export interface ChildLike {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly restarts: number;
  readonly lastError: { readonly message: string } | null;
  readonly details: object;
  readonly children: readonly ChildLike[];
}

export interface TreeNode {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly restarts: number;
  readonly lastError: string | null;
  readonly details: readonly (readonly [string, string])[];
  readonly children: readonly TreeNode[];
}

export interface TreeView {
  /** False: the dashboard was given no supervisor. */
  readonly hasTree: boolean;
  readonly state: string | null;
  readonly children: readonly TreeNode[];
  /** There are more parts than are shown. */
  readonly isCut: boolean;
}

/** Parts that are shown: more threads than machines have. */
const MOST_NODES = 1_000;
/** Processes, their children, and the threads of those. */
const DEEPEST = 4;
const TEXT_CHARACTERS = 500;

export const tree: View = {
  everyMs: 1_000,
  isHeavy: false,
  prepare:
    (_params: Params, { app }: Sources) =>
    (): Promise<TreeView> => {
      if (app === null) return Promise.resolve({ hasTree: false, state: null, children: [], isCut: false });
      const budget = { left: MOST_NODES };
      const children = nodesOf(app.children(), budget, DEEPEST);
      return Promise.resolve({ hasTree: true, state: app.state ?? null, children, isCut: budget.left === 0 });
    },
};

/** The consumers of one group, wherever in the tree they are, each followed by the pools beside it. */
export const consumersOf = (app: TreeSource, stream: string, group: string): TreeNode[] => {
  const id = `${stream}/${group}`;
  const found: TreeNode[] = [];
  const visit = (siblings: readonly TreeNode[]): void => {
    const own = siblings.filter((node) => node.kind === "group" && node.id === id);
    if (own.length > 0) found.push(...own, ...siblings.filter(({ kind }) => kind === "pool"));
    for (const { children } of siblings) visit(children);
  };
  visit(nodesOf(app.children(), { left: MOST_NODES }, DEEPEST));
  return found;
};

const nodesOf = (children: readonly ChildLike[], budget: { left: number }, depth: number): TreeNode[] => {
  const nodes: TreeNode[] = [];
  for (const child of depth > 0 ? children : []) {
    if (budget.left === 0) break;
    budget.left -= 1;
    nodes.push({
      id: textOf(child.id),
      kind: textOf(child.kind),
      state: textOf(child.state),
      restarts: child.restarts,
      lastError: child.lastError === null ? null : textOf(child.lastError.message),
      details: Object.entries(child.details).map(([name, value]) => [name, detailText(value)] as const),
      children: nodesOf(child.children, budget, depth - 1),
    });
  }
  return nodes;
};

const textOf = (value: unknown): string => shortText(String(value), TEXT_CHARACTERS);

const detailText = (value: unknown): string => {
  if (value === null || value === undefined) return "–";
  if (Array.isArray(value)) return textOf(value.join(", "));
  return textOf(typeof value === "object" ? JSON.stringify(value) : value);
};
