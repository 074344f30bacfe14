/** Multi-document transactions: all of it or nothing, begun again when others are in the way, and what is said when the end is unknown. */
import { spread, systemClock } from "@rheo/core/internal";
import type { ClientSession } from "mongodb";
import { type Database, TRANSACTION } from "./database.ts";
import { isCommitUnknown, isConflict, isNetwork, outcomeUnknown, unavailable } from "./errors.ts";

/** First and longest wait before an operation is begun again, in ms: a transaction of ours takes some ms. */
const WAIT_MIN_MS = 2;
const WAIT_MAX_MS = 200;
/** Waits are spread by this share to either side, so that those who met do not meet again. */
const WAIT_JITTER = 0.9;
/** A commit whose answer was lost is sent again so often: it takes effect once however often it is sent. */
const COMMITS = 5;
/** Tries after the connection failed: the driver has waited for another server each time. */
const NETWORK_TRIES = 2;

/** How long and how often something is tried again. */
export class Patience {
  readonly #untilMs: number;
  readonly #random: () => number;
  #failures = 0;
  #networkFailures = 0;

  constructor(timeoutMs: number, random: () => number) {
    this.#untilMs = systemClock.monotonic() + timeoutMs;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  get isOver(): boolean {
    return systemClock.monotonic() >= this.#untilMs || this.#networkFailures > NETWORK_TRIES;
  }

  /** Waits after a failure, or throws it when patience is at its end. @throws unavailable, or `error` itself if it is no conflict */
  async wait(error: unknown): Promise<void> {
    if (!isConflict(error)) throw error;
    this.#failures += 1;
    if (isNetwork(error)) this.#networkFailures += 1;
    if (this.isOver) throw unavailable(error);
    await pause(spread(Math.min(WAIT_MAX_MS, WAIT_MIN_MS * 2 ** Math.min(this.#failures, 10)), WAIT_JITTER, this.#random()));
  }
}

/** `keepAlive`: whether the process waits for its end. */
export const pause = (ms: number, { keepAlive = true }: { readonly keepAlive?: boolean } = {}): Promise<void> =>
  new Promise((resolve) => void systemClock.schedule(ms, resolve, { keepAlive }));

/**
 * Runs `work` in one transaction. What it throws ends the transaction: nothing of it is left.
 * @throws outcome_unknown - the commit was sent and never answered
 */
export const once = async <Result>(database: Database, work: (session: ClientSession) => Promise<Result>): Promise<Result> => {
  const session = database.client.startSession({ causalConsistency: true });
  try {
    session.startTransaction(TRANSACTION);
    const result = await attempt(session, work);
    await commit(session);
    return result;
  } finally {
    await session.endSession();
  }
};

const attempt = async <Result>(session: ClientSession, work: (session: ClientSession) => Promise<Result>): Promise<Result> => {
  try {
    return await work(session);
  } catch (error) {
    // one that the server has ended already, or that never began, says so; that changes nothing
    await session.abortTransaction().catch(() => undefined);
    throw error;
  }
};

const commit = async (session: ClientSession): Promise<void> => {
  for (let sent = 1; ; sent++) {
    try {
      return await session.commitTransaction();
    } catch (error) {
      // the server says that it was not committed
      if (isConflict(error)) throw error;
      if (sent >= COMMITS || !isCommitUnknown(error)) throw outcomeUnknown(error);
      await pause(WAIT_MIN_MS * 2 ** sent);
    }
  }
};

/** As {@link once}, begun again while others are in the way. @throws unavailable, outcome_unknown */
export const transact = async <Result>(
  database: Database,
  patience: Patience,
  work: (session: ClientSession) => Promise<Result>,
): Promise<Result> => {
  for (;;) {
    try {
      return await once(database, work);
    } catch (error) {
      await patience.wait(error);
    }
  }
};
