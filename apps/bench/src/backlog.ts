/** A stream with events that a group has not begun, and the end of it. */
import type { EventInput, Rheo } from "@rheo/core";
import { SMALL_BYTES, sampleBatches } from "./sample.ts";
import { type Opened, type System, tidy } from "./systems.ts";

export const STREAM = "bench";
export const GROUP = "drain";

/** Events and bytes of one call that fills: well below what a call may have. */
const CALL_EVENTS = 1_000;
const CALL_BYTES = 8_000_000;
/** Bytes of a backlog at most: of larger events, fewer say as much. */
const BACKLOG_BYTES = 32_000_000;
/** Made at once, so that a deep backlog does not have to fit into memory. */
const CHUNK_EVENTS = 50_000;

/** So many of that size, if they are not too much. */
export const countOf = (events: number, bytes: number): number =>
  bytes <= SMALL_BYTES ? events : Math.max(1, Math.min(events, Math.floor(BACKLOG_BYTES / bytes)));

export const callsOf = (events: number, bytes: number): EventInput[][] =>
  sampleBatches(events, Math.max(1, Math.min(CALL_EVENTS, Math.floor(CALL_BYTES / bytes))), bytes);

/** Of a store that keeps all in the heap, at most: more would not fit. */
const MOST_IN_MEMORY = 1_000_000;

/** Events of a deep backlog or a long history that a store can have. */
export const depthOf = ({ kind }: System, wanted: number): number =>
  kind === "memory" ? Math.min(wanted, MOST_IN_MEMORY) : wanted;

export interface Backlog {
  readonly events: number;
  /** Of each; default 300. */
  readonly bytes?: number;
  readonly partitions?: number;
}

export const fill = async (
  { events, bytes = SMALL_BYTES }: Backlog,
  append: (call: EventInput[]) => Promise<unknown>,
): Promise<void> => {
  for (let done = 0; done < events; done += CHUNK_EVENTS)
    for (const call of callsOf(Math.min(CHUNK_EVENTS, events - done), bytes)) await append(call);
};

export const backlog = async ({ rheo, place }: Opened, wanted: Backlog): Promise<void> => {
  await rheo.createStream(STREAM, { partitions: wanted.partitions ?? 1 });
  await rheo.createGroup(STREAM, GROUP);
  await fill(wanted, (call) => rheo.appendMany(STREAM, call));
  if (place.kind === "server") await tidy(place.store, place.url);
};

/** Until so many events are acked by this instance. */
export const acked = (rheo: Rheo, events: number): Promise<void> => {
  let count = 0;
  return new Promise((resolve) => {
    rheo.events.on("lease.settled", (settled) => {
      count += settled.acked;
      if (count >= events) resolve();
    });
  });
};

/** Seconds from the first lease that this instance is granted to the ack of so many events. To be called before anybody fetches. */
export const secondsToAck = async (rheo: Rheo, events: number): Promise<number> => {
  let startMs = Number.NaN;
  rheo.events.once("lease.granted", () => (startMs = performance.now()));
  await acked(rheo, events);
  return (performance.now() - startMs) / 1_000;
};

/**
 * Until so many events are acked, and the lag is 0. The lag is asked for at the end only: asked for all along, it would cost the
 * store a good part of what is measured.
 */
export const settledAll = async (opened: Opened, events: number): Promise<void> => {
  await acked(opened.rheo, events);
  await opened.rheo.whenCaughtUp(STREAM, GROUP);
};
