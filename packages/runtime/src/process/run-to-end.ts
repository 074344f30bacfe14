import type { Clock } from "@rheo/core";
import { systemClock } from "@rheo/core/internal";
import { deferred } from "../deferred.ts";
import { EXIT } from "./exit-code.ts";

/** What can be run until somebody ends it: a parent of processes, or an app in this one. */
export interface Runnable {
  /** Rejects when it cannot be run at all. */
  start(): Promise<void>;
  /**
   * Drains and ends; null: in the time that it has by itself. A later call can only shorten it. Whether nothing had to be aborted.
   */
  end(timeoutMs: number | null): Promise<boolean>;
  /** What SIGHUP asks for. */
  restart(): void;
  /** Resolves when it cannot go on as a whole. */
  readonly failure: Promise<unknown>;
}

/** Where signals come from: the process. */
export interface SignalSource {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}

/** Two signals so close are one: a terminal signals the whole group, and what started us, such as npm, passes its own on to us. */
export const ECHO_MS = 500;

/**
 * Runs it until a signal or a failure, and gives the exit code. SIGTERM and SIGINT drain, a second one forces; SIGHUP restarts.
 * @throws what `start` threw; nothing is left running
 */
export const runToEnd = async (runnable: Runnable, signals: SignalSource, clock: Clock = systemClock): Promise<number> => {
  const code = deferred<number>();
  let endedAtMs: number | null = null;
  const end = (): void => {
    const isFirst = endedAtMs === null;
    if (endedAtMs !== null && clock.monotonic() - endedAtMs < ECHO_MS) return;
    endedAtMs ??= clock.monotonic();
    void runnable.end(isFirst ? null : 0).then((isComplete) => code.resolve(isComplete ? EXIT.drained : EXIT.incomplete));
  };
  const restart = (): void => {
    if (endedAtMs === null) runnable.restart();
  };
  const listeners = { SIGTERM: end, SIGINT: end, SIGHUP: restart } as const;
  const names = Object.keys(listeners) as (keyof typeof listeners)[];
  for (const name of names) signals.on(name, listeners[name]);
  void runnable.failure.then(async () => {
    if (endedAtMs !== null) return;
    endedAtMs = Number.NEGATIVE_INFINITY; // a signal from now on forces
    await runnable.end(null);
    code.resolve(EXIT.failed);
  });
  try {
    await runnable.start();
    return await code.promise;
  } catch (cause) {
    await runnable.end(0);
    throw cause;
  } finally {
    for (const name of names) signals.off(name, listeners[name]);
  }
};
