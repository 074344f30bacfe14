/** Who is charged when a thread has died: pure. */

/** What is known of the dead thread. Deliveries are named by numbers. */
export interface Evidence {
  /** What ran when it died. */
  readonly running: readonly number[];
  /** We ended it. */
  readonly wasKilled: boolean;
  /** Whether a failure of it would be charged: its lease is not lost, and it was not told to end by a drain. */
  readonly counts: (index: number) => boolean;
  /** Its time was over. */
  readonly isLate: (index: number) => boolean;
  /** The thread has aborted its signal, so the thread was not blocked. */
  readonly wasAborted: (index: number) => boolean;
}

export interface Verdict {
  /** Charged with an attempt. */
  readonly guilty: readonly number[];
  /** Not charged; each goes out again alone, and the one that kills then is known. */
  readonly suspects: readonly number[];
  /** Go out again. */
  readonly innocent: readonly number[];
}

/**
 * | the thread                                   | one ran (that counts) | several did                                     |
 * |----------------------------------------------|-----------------------|-------------------------------------------------|
 * | crashed                                      | guilty                | suspects                                        |
 * | was ended, some being late, and was blocked  | guilty                | suspects: what is late may only have had to wait |
 * | was ended, some being late, and not blocked  | guilty if late        | those that are late are guilty                  |
 * | was ended for another reason                 | innocent              | innocent                                        |
 */
export const blame = ({ running, wasKilled, counts, isLate, wasAborted }: Evidence): Verdict => {
  const accused = running.filter(counts);
  const late = accused.filter(isLate);
  const isBlocked = late.length > 0 && !late.some(wasAborted);
  if (wasKilled && !isBlocked) return verdict(running, late, []);
  return accused.length === 1 ? verdict(running, accused, []) : verdict(running, [], accused);
};

const verdict = (running: readonly number[], guilty: readonly number[], suspects: readonly number[]): Verdict => ({
  guilty,
  suspects,
  innocent: running.filter((index) => !guilty.includes(index) && !suspects.includes(index)),
});
