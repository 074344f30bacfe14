/**
 * Everything that happens, as one typed union: `rheo.events`, `node:diagnostics_channel` (channel `rheo:<type>`), telemetry and
 * tests read this and nothing else. Counts are of events, never of calls. No payloads.
 */
import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "eventemitter3";
import type { SettleResult } from "./backend.ts";
import type { StaleReason } from "./errors.ts";
import { guarded } from "./guarded.ts";
import type { Outcome } from "./outcome.ts";

interface InStream {
  readonly stream: string;
}
interface InGroup extends InStream {
  readonly group: string;
}
interface AtDelivery extends InGroup {
  readonly partition: number;
  readonly sequence: number;
}

/** One grant: an entry of each list per delivery, by sequence. */
export interface LeasedDeliveries {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  readonly sequences: readonly number[];
  /** From the event's timestamp to its lease, both by the store's clock; never below 0. */
  readonly waitedMs: readonly number[];
  /** `metadata.traceparent` of the events; null where there is none. */
  readonly traceparents: readonly (string | null)[];
}

/** One settlement: what became of each delivery, by sequence. */
export interface SettledDeliveries {
  readonly partition: number;
  readonly token: number;
  readonly sequences: readonly number[];
  readonly states: readonly SettleResult["state"][];
}

/** Deliveries of one grant that handlers are through with, with the same outcome: an entry of each list per delivery. */
export interface HandledDeliveries {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  readonly outcome: Outcome["kind"];
  readonly sequences: readonly number[];
  /** When the handler began, by the instance's monotonic clock. */
  readonly beganAtMs: readonly number[];
  /** From its start to its end; of a batch handler, that of the call. */
  readonly tookMs: readonly number[];
}

/** What each type of event carries, beside `type`, `instance` and `atMs`. */
export interface RheoEventMap {
  "stream.created": InStream & { readonly partitions: number };
  "stream.deleted": InStream;
  "stream.trimmed": InStream & { readonly removed: number; readonly heldBack: number };
  "event.appended": InStream & { readonly count: number; readonly duplicates: number };
  "group.created": InGroup;
  "group.updated": InGroup;
  "group.deleted": InGroup;
  "group.paused": InGroup;
  "group.resumed": InGroup;
  "group.reset": InGroup & { readonly reopened: number };
  "group.replayed": InGroup & { readonly reopened: number };
  "dead_letter.redriven": InGroup & { readonly reopened: number };
  "dead_letter.purged": InGroup & { readonly purged: number };
  "dead_letter.created": AtDelivery & { readonly reason: string };
  /** `redelivered`: those with an attempt above 1. */
  "lease.granted": InGroup & { readonly consumerId: string; readonly count: number; readonly redelivered: number };
  "lease.settled": InGroup & {
    readonly acked: number;
    readonly retrying: number;
    readonly dead: number;
    readonly released: number;
  };
  "lease.renewed": InGroup & { readonly count: number };
  /** The deliveries that `lease.granted` counts, one by one. Made only while somebody listens, as are the next two. */
  "delivery.leased": InGroup & { readonly consumerId: string; readonly grants: readonly LeasedDeliveries[] };
  /** Those that `lease.settled` counts, and those refused. `tookMs`: the round trip. */
  "delivery.settled": InGroup & { readonly settled: readonly SettledDeliveries[]; readonly tookMs: number };
  /** Whatever has become of their leases meanwhile. */
  "delivery.handled": InGroup & { readonly consumerId: string; readonly handled: readonly HandledDeliveries[] };
  /** A settle or renew was refused. */
  "lease.stale": AtDelivery & { readonly token: number; readonly why: StaleReason };
  /** A running handler's lease is no longer its own; its signal was aborted. */
  "lease.lost": AtDelivery & { readonly token: number; readonly consumerId: string; readonly why: StaleReason | "expired" };
  "consumer.started": InGroup & { readonly consumerId: string };
  "consumer.paused": InGroup & { readonly consumerId: string };
  "consumer.resumed": InGroup & { readonly consumerId: string };
  "consumer.draining": InGroup & { readonly consumerId: string };
  "consumer.stopped": InGroup & { readonly consumerId: string };
  "fetch.failed": InGroup & {
    readonly consumerId: string;
    readonly failures: number;
    readonly nextInMs: number;
    readonly error: Error;
  };
  "settle.failed": InGroup & {
    readonly consumerId: string;
    readonly count: number;
    readonly failures: number;
    readonly error: Error;
  };
  "renew.failed": InGroup & {
    readonly consumerId: string;
    readonly count: number;
    readonly failures: number;
    readonly error: Error;
  };
  "handler.failed": AtDelivery & { readonly attempt: number; readonly outcome: "retry" | "reject"; readonly reason: string };
  "handler.timed_out": AtDelivery & { readonly attempt: number; readonly timeoutMs: number };
  /** Everything failed, `failures` times in a row: nothing is started for `nextInMs`, then one event is tried. Told again when that fails too. */
  "breaker.opened": InGroup & {
    readonly consumerId: string;
    readonly failures: number;
    readonly nextInMs: number;
    readonly reason: string;
  };
  /** One event is tried. */
  "breaker.half_opened": InGroup & { readonly consumerId: string };
  /** It was acked: work goes on. */
  "breaker.closed": InGroup & { readonly consumerId: string; readonly openMs: number };
  /** A member holds this partition from now on, and fetches from it: its lease has this token. */
  "partition.assigned": InGroup & { readonly consumerId: string; readonly partition: number; readonly token: number };
  /** A member has given it up, so that another may have it: to share fairly, or because it stops or is paused. */
  "partition.released": InGroup & { readonly consumerId: string; readonly partition: number };
  /** A member holds it no longer, though it did not give it up: another has taken it, or it could not be kept. */
  "partition.lost": InGroup & { readonly consumerId: string; readonly partition: number };
  /** Sharing out partitions failed; it is tried again. */
  "assignment.failed": InGroup & { readonly consumerId: string; readonly failures: number; readonly error: Error };
  /** This member sweeps the stream from now on; no other does. */
  "retention.elected": InStream & { readonly consumerId: string; readonly token: number };
  /** It does so no longer, though it did not stop: its lease could not be kept. */
  "retention.deposed": InStream & { readonly consumerId: string };
  /** A sweep is done. `archived`: events that the archive was given; `heldBack`: due, but not settled by every group. */
  "retention.swept": InStream & {
    readonly consumerId: string;
    readonly removed: number;
    readonly archived: number;
    readonly heldBack: number;
    readonly tookMs: number;
  };
  /** A sweep ended early, by the store or by the archive. What it had not removed is there; it goes on there. */
  "retention.failed": InStream & {
    readonly consumerId: string;
    readonly failures: number;
    readonly nextInMs: number;
    readonly error: Error;
  };
  "thread.started": { readonly threadId: number };
  /** `charged`: the deliveries that were running and are blamed. */
  "thread.died": { readonly threadId: number; readonly reason: string; readonly charged: number; readonly redispatched: number };
  "child.started": { readonly child: string };
  "child.stopped": { readonly child: string };
  "child.failed": { readonly child: string; readonly error: Error };
  "child.restarting": { readonly child: string; readonly restarts: number; readonly inMs: number };
  "supervisor.escalated": { readonly child: string; readonly restarts: number; readonly withinMs: number; readonly error: Error };
}

/** Name of an event of `rheo.events`. */
export type RheoEventType = keyof RheoEventMap;

/** The event of `rheo.events` that has this name. */
export type RheoEventOf<Type extends RheoEventType> = {
  readonly type: Type;
  /** Name of the instance. */
  readonly instance: string;
  readonly atMs: number;
} & RheoEventMap[Type];
/** One event of any type, told apart by `type`. */
export type RheoEvent = { [Type in RheoEventType]: RheoEventOf<Type> }[RheoEventType];

/** `rheo.events`: `on("lease.lost", event => …)`, `off`, `once`. */
export type RheoEvents = Pick<
  EventEmitter<{ [Type in RheoEventType]: (event: RheoEventOf<Type>) => void }>,
  "on" | "off" | "once" | "listenerCount"
>;

/** Tells observers. A listener that throws harms nobody: the error becomes a process warning. */
export type Emit = <Type extends RheoEventType>(type: Type, fields: RheoEventMap[Type]) => void;

/** Whether anybody listens, for events that are dear to make. */
export type Hears = (type: RheoEventType) => boolean;

/** The emitter of one instance. */
export const createEvents = (instance: string, now: () => number): { events: RheoEvents; emit: Emit; hears: Hears } => {
  const emitter = new EventEmitter<Record<string, (event: unknown) => void>>();
  const channels = new Map<string, ReturnType<typeof channel>>();
  const channelOf = (type: string): ReturnType<typeof channel> => {
    const known = channels.get(type) ?? channel(`rheo:${type}`);
    channels.set(type, known);
    return known;
  };
  const hears: Hears = (type) => channelOf(type).hasSubscribers || emitter.listenerCount(type) > 0;
  const emit: Emit = (type, fields) => {
    if (!hears(type)) return;
    const published = channelOf(type);
    const event = Object.freeze({ type, instance, atMs: now(), ...fields });
    if (published.hasSubscribers) published.publish(event);
    for (const listener of emitter.listeners(type)) guarded(`A listener of "${type}"`, () => listener(event));
  };
  // eventemitter3's own emit lets a throwing listener through, so the listeners are called one by one above; `once` is kept
  const events = {
    on: (type: string, listener: (event: unknown) => void) => emitter.on(type, listener),
    off: (type: string, listener: (event: unknown) => void) => emitter.off(type, listener),
    once: (type: string, listener: (event: unknown) => void) => {
      const first = (event: unknown): void => {
        emitter.off(type, first);
        listener(event);
      };
      return emitter.on(type, first);
    },
    listenerCount: (type: string) => emitter.listenerCount(type),
  };
  return { events: events as unknown as RheoEvents, emit, hears }; // the same four methods, typed by event
};
