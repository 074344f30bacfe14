import { setTimeout as sleep } from "node:timers/promises";
import { RheoError } from "@rheo/core";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";

/** How long work may take to end after Ctrl-C, in ms; what a store then still does, it does alone. */
const GRACE_MS = 3_000;

/**
 * Work that a reader who has gone, as with `| head`, ends with 0, and, if it heeds signals, Ctrl-C with 130 and SIGTERM with 143: its
 * signal is aborted, and what it then throws for that is not told.
 */
export const interruptible = async (
  io: Io,
  heedsSignals: boolean,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> => {
  const controller = new AbortController();
  const { signal } = controller;
  const done = new AbortController();
  const listeners = {
    SIGINT: () => controller.abort(EXIT.interrupted),
    SIGTERM: () => controller.abort(EXIT.terminated),
  } as const;
  const lost = (): void => controller.abort(EXIT.ok);
  if (heedsSignals) {
    io.on?.("SIGINT", listeners.SIGINT);
    io.on?.("SIGTERM", listeners.SIGTERM);
  }
  io.stdout.on?.("error", lost);
  try {
    const code = await Promise.race([work(signal), late(signal, done.signal)]);
    return signal.aborted ? signal.reason : code;
  } catch (error) {
    if (signal.aborted && isForThat(error)) return signal.reason;
    throw error;
  } finally {
    done.abort();
    io.off?.("SIGINT", listeners.SIGINT);
    io.off?.("SIGTERM", listeners.SIGTERM);
    io.stdout.off?.("error", lost);
  }
};

const isForThat = (error: unknown): boolean =>
  RheoError.is(error, "aborted") || RheoError.is(error, "closed") || (error instanceof Error && error.name === "AbortError");

/** Resolves some time after the first signal, unless the second comes before. */
const late = async (aborted: AbortSignal, done: AbortSignal): Promise<number> => {
  await new Promise<void>((resolve) => {
    aborted.addEventListener("abort", () => resolve(), { once: true });
    done.addEventListener("abort", () => resolve(), { once: true });
  });
  await sleep(GRACE_MS, undefined, { signal: done }).catch(() => undefined);
  return EXIT.failed;
};
