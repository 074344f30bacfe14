import { type Clock, RheoError } from "@rheo/core";
import { isTransient } from "@rheo/core/internal";
import { deferred } from "../deferred.ts";
import { asError, retryWaitMs } from "./retrying.ts";

export interface PartingHost {
  readonly clock: Clock;
  readonly random: () => number;
  /** The round trip that is under way, if any. */
  readonly inFlight: Promise<void> | null;
  /** Gives everything back that has no outcome. How many outcomes are to be sent. */
  giveBack(): number;
  /** Sends them all. */
  settle(): Promise<void>;
  /** That may have been applied. */
  lostAnswer(): void;
}

/** Bound on giving back what is held, in ms. */
const PART_MS = 2_000;

/**
 * Gives back what is held, as far as the store answers in time; otherwise the leases run out. What fails for the moment is repeated.
 * Never rejects: returns why something could not be settled, if that is so.
 */
export const part = async (host: PartingHost): Promise<Error> => {
  const late = deferred();
  const timer = host.clock.schedule(PART_MS, () => late.resolve());
  let failure: Error = new RheoError("outcome_unknown", `The store did not answer within ${PART_MS} ms of the end.`);
  const work = repeat(host, late.promise).catch((cause: unknown) => {
    failure = asError(cause);
  });
  host.giveBack();
  await Promise.race([work, late.promise]);
  timer.cancel();
  late.resolve();
  return failure;
};

const repeat = async (host: PartingHost, late: Promise<void>): Promise<void> => {
  let isLate = false;
  void late.then(() => {
    isLate = true;
  });
  await host.inFlight;
  for (let failures = 1; !isLate && host.giveBack() > 0; failures++) {
    try {
      await host.settle();
    } catch (cause) {
      if (!isTransient(cause)) throw cause;
      if (RheoError.is(cause, "outcome_unknown")) host.lostAnswer();
      await pause(host, retryWaitMs(failures, host.random()), late);
    }
  }
};

const pause = async ({ clock }: PartingHost, ms: number, late: Promise<void>): Promise<void> => {
  const over = deferred();
  const timer = clock.schedule(ms, () => over.resolve());
  await Promise.race([over.promise, late]);
  timer.cancel();
};
