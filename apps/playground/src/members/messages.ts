/** What the playground tells a member process, and what that tells it. */
import type { ChildInfo } from "@rheo/runtime";
import type { Saying } from "../narration.ts";
import type { Mode } from "../views.ts";

export interface Assignment {
  readonly type: "begin";
  readonly url: string;
  readonly stream: string;
  readonly group: string;
  /** The consumer's id, too. */
  readonly name: string;
  readonly mode: Mode;
}

export type ToMember =
  | Assignment
  | { readonly type: "mode"; readonly mode: Mode }
  | { readonly type: "kill_thread" }
  /** Drain, and end. */
  | { readonly type: "stop" };

export type ToPlayground =
  | { readonly type: "ready" }
  | { readonly type: "said"; readonly saying: Saying }
  | { readonly type: "tree"; readonly children: readonly ChildInfo[] };
