/** What another queue on the same server is asked. An adapter uses the queue as its documentation says, with the settings that do best here. */
import type { EventInput } from "@rheo/core";
import type { HostName, ServerStore } from "../hosts.ts";
import type { Scratch } from "../scratch.ts";

/** What peers are asked. Settings that are best for one are not for another. */
export type Asked = "append" | "drain" | "latency";
/** Why a consumer is started. */
export type Purpose = Exclude<Asked, "append">;

export interface OpenedPeer {
  /** Makes jobs of the events in one call of the queue's. */
  readonly enqueue: (events: readonly EventInput[]) => Promise<void>;
  /** Starts a consumer in this process. Resolves, once it runs, to what stops it. */
  readonly consume: (purpose: Purpose, handle: (event: EventInput) => void) => Promise<() => Promise<void>>;
  /** Whether every job is completed, in the store. */
  readonly isDrained: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export interface Peer {
  /** On which it works. */
  readonly host: HostName;
  /** Beside which stores it is measured; default: the one on which it works. */
  readonly beside?: readonly ServerStore[];
  /** Its own among all peers. */
  readonly name: string;
  readonly version: string;
  /** What decides each answer. Without settings, it is not asked. */
  readonly settings: { readonly [asked in Asked]?: string };
  /** What its documentation says of jobs whose process was killed. Null: said elsewhere. */
  readonly recovery: string | null;
  /** Events of a backlog at most, where more would take minutes. */
  readonly mostEvents?: number;
  /** How often its consumer looks for jobs, in ms, where it hears of them in no other way. */
  readonly pollMs?: number;
  /** In a place that is empty. */
  readonly open: (scratch: Scratch) => Promise<OpenedPeer>;
}

/** A peer in its place. */
export interface PeerInUse {
  readonly peer: Peer;
  readonly scratch: Scratch;
  readonly opened: OpenedPeer;
}
