/** One record per group and partition: the head, and how many there are of what only grows with failures. */
import type { Head } from "@rheo/core/internal";
import type { Environment } from "../environment.ts";
import { KIND, kindKey, type Part } from "./progress-keys.ts";

export interface Counts {
  readonly exceptions: number;
  /** Of these, those that wait for another attempt. */
  readonly retrying: number;
  readonly deadLetters: number;
}

const NEW: Head & Counts = {
  cursor: 0,
  token: 0,
  resetToken: 0,
  start: 0,
  skipped: 0,
  exceptions: 0,
  retrying: 0,
  deadLetters: 0,
};

type Row = readonly [number, number, number, number, number, number, number, number];

export const readHead = (environment: Environment, part: Part): Head & Counts => {
  const text = environment.text(kindKey(part, KIND.head));
  if (text === null) return NEW;
  const [cursor, token, resetToken, start, skipped, exceptions, retrying, deadLetters] = JSON.parse(text) as Row; // as below
  return { cursor, token, resetToken, start, skipped, exceptions, retrying, deadLetters };
};

export const putHead = (environment: Environment, part: Part, head: Head, counts: Counts): void => {
  const { cursor, token, resetToken, start, skipped } = head;
  const row: Row = [cursor, token, resetToken, start, skipped, counts.exceptions, counts.retrying, counts.deadLetters];
  environment.putText(kindKey(part, KIND.head), JSON.stringify(row));
};
