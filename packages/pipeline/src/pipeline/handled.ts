/** What handlers return, and what it means. */
import { ack, type Outcome, RheoError } from "@rheo/core";
import { givenOutcome } from "@rheo/core/internal";
import { OwnedMessage } from "./message.ts";

/** Where a processor sends its message. */
export interface Route<Data = unknown> {
  /** Name of the batcher; default "default", or the only one. */
  readonly batcher?: string | undefined;
  /** Messages of one key share batches, and those of another do not; default by the batcher's `by`. */
  readonly key?: string | undefined;
  /** What the batcher gets as `message.data`; default the payload. */
  readonly data?: Data | undefined;
}

/** What a function without a return statement gives. */
type Nothing = ReturnType<() => void>;

/**
 * What a processor returns. An outcome settles the message, past all batchers. Anything else sends it on, to the batcher of its
 * route; where there are no batchers it is acked. Throwing fails it.
 */
export type Handled<Data = unknown> = Nothing | Outcome | Route<Data>;

/** What a batcher returns: an outcome for all, or an array with one for each (nothing is an ack). Throwing fails all. */
export type BatchHandled = Nothing | Outcome | readonly (Outcome | null | undefined)[];

const ACK = ack();
const ROUTE_NAMES: readonly string[] = ["batcher", "key", "data"];

/**
 * The outcome or route that a value stands for; null when it says nothing, such as the message itself or the answer of a database.
 * @throws invalid_option - a route with what does not belong there
 */
export const readHandled = (value: unknown): Outcome | Route | null => {
  if (typeof value !== "object" || value === null || value instanceof OwnedMessage) return null;
  const outcome = givenOutcome(value);
  if (outcome !== null) return outcome;
  const names = Object.keys(value);
  if (!names.some((name) => ROUTE_NAMES.includes(name))) return null;
  for (const name of names) {
    if (!ROUTE_NAMES.includes(name))
      throw new RheoError("invalid_option", `A processor returned a route with "${name}". Known: ${ROUTE_NAMES.join(", ")}.`);
  }
  return parseRoute(value);
};

const parseRoute = (route: Route): Route => {
  for (const name of ["batcher", "key"] as const) {
    const value: unknown = route[name];
    if (value !== undefined && typeof value !== "string")
      throw new RheoError("invalid_option", `A processor returned a route whose ${name} is no string.`, { path: name });
  }
  return route;
};

/** One outcome for each of `count` messages. @throws invalid_option - outcomes, but not one for each */
export const readBatchHandled = (value: unknown, count: number): readonly Outcome[] => {
  if (!Array.isArray(value)) return new Array<Outcome>(count).fill(givenOutcome(value) ?? ACK);
  const outcomes = value.map(givenOutcome);
  if (outcomes.length !== count && outcomes.some((outcome) => outcome !== null)) {
    throw new RheoError("invalid_option", `The batcher returned ${outcomes.length} outcomes for ${count} messages.`);
  }
  return Array.from({ length: count }, (_, index) => outcomes[index] ?? ACK);
};

export const isOutcome = (handled: Outcome | Route): handled is Outcome => "kind" in handled;
