/**
 * Exceptions by sequence, each with an entry in the order in which they fall due, and one more while it is leased: so the next one due and
 * what is in flight are found without a walk over what only waits.
 */
import type { Exception } from "@rheo/core/internal";
import { endOf, NUMBER_SIZE, newValue, numberAt, timeAt } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";
import { dueKey, KIND, kindKey, type Part, REST_AT, sequenceKey } from "./progress-keys.ts";

const NOTHING = newValue(0);

export const readException = (environment: Environment, part: Part, sequence: number): Exception | null => {
  const text = environment.text(sequenceKey(part, KIND.exception, sequence));
  return text === null ? null : toException(text);
};

const toException = (text: string): Exception => JSON.parse(text) as Exception; // written by putException only

/** By sequence. */
export const readExceptions = (environment: Environment, part: Part): Exception[] => {
  const start = kindKey(part, KIND.exception);
  const found: Exception[] = [];
  for (const { value } of environment.entries({ start, end: endOf(start) })) found.push(toException(textOf(value)));
  return found;
};

/** The lowest sequence, or null. */
export const firstException = (environment: Environment, part: Part): number | null => {
  const start = kindKey(part, KIND.exception);
  const [key] = environment.keys({ start, end: endOf(start), limit: 1 });
  return key === undefined ? null : numberAt(key, REST_AT);
};

/** At most `limit` of those due by `nowMs`, the longest due first. */
export const dueExceptions = (environment: Environment, part: Part, nowMs: number, limit: number): Exception[] => {
  const start = kindKey(part, KIND.due);
  const sequences: number[] = [];
  for (const key of environment.keys({ start, end: endOf(dueKey(part, nowMs, Number.MAX_SAFE_INTEGER)), limit }))
    sequences.push(numberAt(key, REST_AT + NUMBER_SIZE));
  return sequences.flatMap((sequence) => readException(environment, part, sequence) ?? []);
};

/** When the next one falls due; null when none will. */
export const nextDueMs = (environment: Environment, part: Part): number | null => {
  const start = kindKey(part, KIND.due);
  const [key] = environment.keys({ start, end: endOf(start), limit: 1 });
  return key === undefined ? null : timeAt(key, REST_AT);
};

/** Those that are leased by themselves, expired or not. */
export const leasedExceptions = (environment: Environment, part: Part): Exception[] => {
  const start = kindKey(part, KIND.leased);
  const sequences = [...environment.keys({ start, end: endOf(start) })].map((key) => numberAt(key, REST_AT));
  return sequences.flatMap((sequence) => readException(environment, part, sequence) ?? []);
};

/** `before`: what stood there. */
export const putException = (environment: Environment, part: Part, exception: Exception, before: Exception | null): void => {
  const { sequence, dueAtMs } = exception;
  if (before !== null && before.dueAtMs !== null && before.dueAtMs !== dueAtMs)
    environment.remove(dueKey(part, before.dueAtMs, sequence));
  if (dueAtMs !== null && before?.dueAtMs !== dueAtMs) environment.put(dueKey(part, dueAtMs, sequence), NOTHING);
  if (before?.state === "leased" && exception.state !== "leased") environment.remove(sequenceKey(part, KIND.leased, sequence));
  if (before?.state !== "leased" && exception.state === "leased")
    environment.put(sequenceKey(part, KIND.leased, sequence), NOTHING);
  environment.putText(sequenceKey(part, KIND.exception, sequence), JSON.stringify(exception));
};

export const deleteException = (environment: Environment, part: Part, { sequence, dueAtMs, state }: Exception): void => {
  if (dueAtMs !== null) environment.remove(dueKey(part, dueAtMs, sequence));
  if (state === "leased") environment.remove(sequenceKey(part, KIND.leased, sequence));
  environment.remove(sequenceKey(part, KIND.exception, sequence));
};
