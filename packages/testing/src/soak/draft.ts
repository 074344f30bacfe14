import type { EventInput } from "@rheo/core";
import { seeded } from "../random.ts";
import { type Action, PARTITIONS } from "./app.ts";

/** What an event is to be: the same for the same seed and number, so that an append can be repeated by whoever comes after. */
export interface Draft extends EventInput {
  readonly id: string;
  readonly key: string;
  readonly partition: number;
  readonly payload: { readonly do: Action };
}

const KEYS = 200;
/** One of so many events asks for something other than an ack. */
const SHARES: readonly (readonly [action: Action, oneIn: number])[] = [
  ["exit", 400],
  ["throwInTimer", 400],
  ["spin", 300],
  ["wait", 20],
  ["retry", 50],
  ["reject", 500],
];
const ENDS_THREAD: readonly Action[] = ["exit", "throwInTimer"];

/** `mayEndThreads`: whether handlers may end their threads. */
export const draftOf = (seed: number, number: number, mayEndThreads: boolean): Draft => {
  const random = seeded(seed * 1_000_003 + number);
  const key = random.below(KEYS);
  const drawn = SHARES.find(([, oneIn]) => random.chance(1 / oneIn))?.[0] ?? "ack";
  const action = ENDS_THREAD.includes(drawn) && !mayEndThreads ? "ack" : drawn;
  return { id: `${seed}-${number}`, key: `key-${key}`, partition: key % PARTITIONS, payload: { do: action } };
};

/** Whether it ends the thread that works on it, the first time. */
export const endsThread = ({ payload }: Draft): boolean => ENDS_THREAD.includes(payload.do);
