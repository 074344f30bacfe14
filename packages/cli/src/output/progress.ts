/** How far long work has got, on stderr of a terminal; nothing elsewhere. */

import { systemClock } from "@rheo/core";
import { SingleBar } from "cli-progress";
import { colorsFor, type Io } from "../io.ts";
import { count, duration, rate } from "./format.ts";
import { inert } from "./inert.ts";

export interface Progress {
  /** So much of the total is done. */
  reached(done: number): void;
  /** Takes the bar away. Idempotent. */
  end(): void;
}

/** Redraws per second. */
const FPS = 8;
/** Work that ends sooner shows nothing, in ms. */
const SILENT_MS = 400;

/** Work whose size is known: done, rate and time left. */
export const progress = (io: Io, what: string, total: number): Progress => {
  if (io.stderr.isTTY !== true || total === 0) return { reached: () => undefined, end: () => undefined };
  const { clock, startedAtMs } = started();
  const bar = new SingleBar({
    stream: io.stderr as NodeJS.WriteStream, // write, isTTY and columns are all that is used of it
    fps: FPS,
    clearOnComplete: true,
    hideCursor: null,
    gracefulExit: false,
    barsize: 20,
    format: (_, { value, total: most, progress: share }) => {
      const elapsedMs = Math.max(1, clock.monotonic() - startedAtMs);
      const leftMs = value === 0 ? null : (elapsedMs * (most - value)) / value;
      const left = leftMs === null ? "" : `, ${duration(leftMs)} left`;
      return `${inert(what)} ${Math.floor(share * 100)}% ${count(value)} of ${count(most)}, ${rate((value * 1_000) / elapsedMs)}${left}`;
    },
  });
  bar.start(total, 0);
  return { reached: (done) => bar.update(Math.min(done, total)), end: () => bar.stop() };
};

/** Work whose size nobody knows: how long it has been going on, and what `told` says of it. */
export const whileWorking = async <Result>(
  io: Io,
  what: string,
  work: Promise<Result>,
  told: () => string = () => "",
): Promise<Result> => {
  if (io.stderr.isTTY !== true) return work;
  const { clock, startedAtMs } = started();
  const { dim } = colorsFor(io.stderr, io.env);
  let drawn = false;
  const draw = (): void => {
    drawn = true;
    io.stderr.write(`\r${dim(inert(`${what}, ${duration(clock.monotonic() - startedAtMs)}${told()}`))}\u001b[K`);
    timer = clock.schedule(1_000 / FPS, draw, { keepAlive: false });
  };
  let timer = clock.schedule(SILENT_MS, draw, { keepAlive: false });
  try {
    return await work;
  } finally {
    timer.cancel();
    if (drawn) io.stderr.write("\r\u001b[K");
  }
};

const started = (): { readonly clock: typeof systemClock; readonly startedAtMs: number } => ({
  clock: systemClock,
  startedAtMs: systemClock.monotonic(),
});
