/** What the page is told, as JSON. The page's own code imports these types and nothing else from here. */

export interface StateView {
  readonly store: string;
  readonly stream: string;
  readonly group: string;
  readonly numbers: NumbersView;
  /** What holds the frontier of each partition that is behind, in words. */
  readonly holders: readonly string[];
  /** Events per second; 0 while it is stopped. */
  readonly publishing: number;
  readonly restarts: boolean;
  readonly members: readonly MemberView[];
  readonly hand: HandView | null;
  readonly tour: TourView;
  /** Those the page has not seen yet. */
  readonly lines: readonly LineView[];
}

export interface NumbersView {
  readonly published: number;
  readonly lag: number;
  readonly inflight: number;
  readonly retrying: number;
  readonly dead: number;
  readonly members: number;
}

export interface MemberView {
  readonly name: string;
  readonly pid: number;
  readonly state: "starting" | "running" | "frozen" | "stopping";
  readonly mode: Mode["kind"];
  /** Unexpired leases it holds. */
  readonly leases: number;
}

/** What handlers do with an event that is not poisoned. */
export type Mode = { readonly kind: "normal" } | { readonly kind: "slow"; readonly ms: number } | { readonly kind: "failing" };

/** What an event kills when it is handled. */
export type Poison = "none" | "thread" | "process";

/** `good`: as hoped; `warn`: something was injected, or failed; `bad`: an event is lost to its group for now. */
export type Tone = "info" | "good" | "warn" | "bad";

export interface LineView {
  /** Counts from 1. */
  readonly id: number;
  readonly atMs: number;
  readonly who: string;
  readonly tone: Tone;
  readonly text: string;
}

/** The lease that the playground took by hand. */
export interface HandView {
  /** partition@sequence */
  readonly place: string;
  readonly token: number;
  readonly phase: "held" | "run out" | "taken over" | "answered";
  /** Until the lease ends, by the playground's clock; 0 when it has. */
  readonly leftMs: number;
  /** What the ack was answered. */
  readonly answer: AnswerView | null;
}

export interface AnswerView {
  readonly accepted: boolean;
  readonly text: string;
}

export interface TourView {
  /** Counts how often the tour was begun. */
  readonly round: number;
  readonly steps: readonly TourStepView[];
  /** Steps that were carried out. */
  readonly done: number;
  readonly ok: boolean;
}

export interface TourStepView {
  readonly title: string;
  readonly expect: string;
  /** Null until it was carried out. */
  readonly seen: TourSeenView | null;
}

export interface TourSeenView {
  readonly detail: string;
  readonly checks: readonly { readonly what: string; readonly ok: boolean }[];
  readonly ok: boolean;
  readonly numbers: TourNumbersView;
}

/** After the step. */
export interface TourNumbersView {
  /** Seconds on the frozen clock since the tour began. */
  readonly seconds: number;
  readonly lag: number;
  readonly inflight: number;
  readonly frontier: number;
}
