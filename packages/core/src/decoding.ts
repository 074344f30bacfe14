/** Events as readers of a stream get them, from records as its store has them. */
import { RheoError } from "./errors.ts";
import { type Event, type EventRecord, toEvent } from "./event.ts";
import { failureText, type Outcome, reject, retry } from "./outcome.ts";
import { isVersioned, newestShape, type StreamRef } from "./schema.ts";

/** The event of a record, in the newest shape of its stream. */
export type Decode = (record: EventRecord) => Event;

export const decoderOf = (stream: StreamRef<unknown, unknown>): Decode => {
  const name = typeof stream === "string" ? stream : stream.name;
  if (!isVersioned(stream)) return (record) => toEvent(name, record);
  return (record) => newestShape(stream, toEvent(name, record));
};

/** What an event that cannot be decoded gets: another try if an upcaster failed, which can be mended; else none would help. */
export const undecodable = (cause: unknown): Outcome =>
  RheoError.is(cause, "invalid_payload") && cause.details.path === undefined // of what is damaged it says which part
    ? retry(cause)
    : reject(`The stored event cannot be decoded: ${failureText(cause, "unreadable").reason}`);
