/** What a parent and its child processes say to each other over the channel between them (structured clone). */
import type { ChildInfo } from "../supervisor/child.ts";

/** What a child is to run. The first message, so that no store URL with a password is seen in a list of processes. */
export interface Assignment {
  readonly type: "begin";
  /** File URL of the config module. */
  readonly config: string;
  /** Takes the place of the config's store. */
  readonly store: string | null;
  /** Used when neither the above nor the config says which. */
  readonly fallbackStore: string | null;
  /** From 1. */
  readonly number: number;
  readonly processes: number;
  readonly parentPid: number;
  readonly beatMs: number;
  /** Null: as the config says. */
  readonly stopTimeoutMs: number | null;
}

export type ToChild =
  | Assignment
  /** Drain for so long, then end. A later one can only shorten it. */
  | { readonly type: "drain"; readonly timeoutMs: number };

export type ToParent =
  /** A sign of life from the event loop, every `beatMs`. */
  | { readonly type: "beat"; readonly rssBytes: number; readonly children: readonly ChildInfo[] }
  | { readonly type: "configured"; readonly stopTimeoutMs: number | null }
  | { readonly type: "waiting"; readonly reason: string }
  | { readonly type: "ready" }
  | { readonly type: "refused"; readonly reason: string }
  | { readonly type: "failed"; readonly reason: string }
  | { readonly type: "asked" };

/** Whether a message is one of ours: the config and the handlers in the child's process may send whatever they like. */
export const isToParent = (value: unknown): value is ToParent => {
  const field = (name: string): unknown => Reflect.get(Object(value), name);
  switch (field("type")) {
    case "ready":
    case "asked":
      return true;
    case "waiting":
    case "refused":
    case "failed":
      return typeof field("reason") === "string";
    case "configured":
      return field("stopTimeoutMs") === null || typeof field("stopTimeoutMs") === "number";
    case "beat":
      return typeof field("rssBytes") === "number" && Array.isArray(field("children"));
    default:
      return false;
  }
};
