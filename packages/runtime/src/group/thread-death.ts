/** What a dead thread leaves behind, and whose fault it was: `blame`, applied to the slices of a session. */
import type { Outcome } from "@rheo/core";
import type { Session } from "../pool/session.ts";
import type { Slice } from "../pool/slice.ts";
import { blame } from "./blame.ts";
import { type Place, RUNNING } from "./ledger.ts";

/** A delivery of a slice. */
export interface At {
  readonly slice: Slice;
  readonly index: number;
}

interface Judgement {
  /** Charged with an attempt. */
  readonly guilty: readonly At[];
  /** Go out again alone. */
  readonly suspects: readonly At[];
  /** Go out again. */
  readonly innocent: readonly At[];
  /** Go back uncharged: of a run only the first is charged, since what is behind it had to wait for it. */
  readonly released: readonly At[];
}

/** What nothing final has been heard of: deliveries that ran, and those that never began. To be called once, when the thread is gone. */
export const leftoversOf = (session: Session): { readonly running: At[]; readonly queued: At[] } => {
  const running: At[] = [];
  const queued: At[] = [];
  for (const slice of session.slices) {
    const left = slice.leftovers();
    running.push(...left.running.map((index) => ({ slice, index })));
    queued.push(...left.queued.map((index) => ({ slice, index })));
  }
  return { running, queued };
};

export const judge = (session: Session, running: readonly At[], isRun: boolean): Judgement => {
  const at = (number: number): At => running[number] ?? fail(number);
  const verdict = blame({
    running: running.map((_, number) => number),
    wasKilled: session.killed,
    counts: (number) => counts(at(number)),
    isLate: (number) => at(number).slice.isLate(at(number).index),
    wasAborted: (number) => at(number).slice.memory.wasAborted(at(number).index),
  });
  const guilty = verdict.guilty.map(at);
  const others = { suspects: verdict.suspects.map(at), innocent: verdict.innocent.map(at) };
  if (!isRun) return { guilty, released: [], ...others };
  const calls = guilty.map(({ slice, index }) => slice.callAt(index));
  const isFirst = (_: At, number: number): boolean => calls.indexOf(calls[number] ?? "") === number;
  return { guilty: guilty.filter(isFirst), released: guilty.filter((one, number) => !isFirst(one, number)), ...others };
};

/** Not when its lease is lost or it was told to end: then nothing is charged. */
const counts = ({ slice, index }: At): boolean => {
  const { batch, index: place } = slice.placeAt(index);
  return batch.states[place] === RUNNING;
};

const fail = (number: number): never => {
  throw new RangeError(`There is no delivery ${number}.`);
};

/** At once the first time, so that a crash costs no time; then by the group's policy. */
export const crashOutcome = ({ batch }: Place, reason: string): Outcome => ({
  kind: "retry",
  delayMs: batch.attempt === 1 ? 0 : null,
  reason: `The thread died while it handled this event: ${reason}`,
  stack: null,
});
