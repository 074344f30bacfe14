/** How even the machine is while it measures: a small piece of work that should always take the same time, and what the system says. */
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import type { Noise } from "./results/kept.ts";
import { sampleEvents } from "./sample.ts";

const TEXT = JSON.stringify(sampleEvents(0, 100));
/** Long enough to be seen by others' work, short beside what is measured. */
const CALIBRATION_MS = 20;

/** How often a second the sample is parsed. */
const calibrate = (): number => {
  const startMs = performance.now();
  let done = 0;
  while (performance.now() - startMs < CALIBRATION_MS) {
    JSON.parse(TEXT);
    done += 1;
  }
  return Math.round((done * 1_000) / (performance.now() - startMs));
};

/** Of all processors since the start, in ticks: all of them, and those that the host took. Null where there is no such file. */
const readTicks = (): { readonly all: number; readonly stolen: number } | null => {
  try {
    const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
    const ticks = line.trim().split(/\s+/).slice(1).map(Number);
    // the last two, guest time, are part of the first two
    return { all: ticks.slice(0, STOLEN + 1).reduce((sum, part) => sum + part, 0), stolen: ticks[STOLEN] ?? 0 };
  } catch {
    return null;
  }
};

/** Place of the stolen ticks in the first line of /proc/stat. */
const STOLEN = 7;

const loadNow = (): number => Math.round((loadavg()[0] ?? 0) * 100) / 100;

/** Watches from now on. */
export class NoiseWatch {
  readonly #before = readTicks();
  readonly #loadBefore = loadNow();
  readonly #calibrations: number[] = [];

  calibrate(): void {
    this.#calibrations.push(calibrate());
  }

  /** So far. */
  read(): Noise {
    const now = readTicks();
    const before = this.#before;
    const stolen =
      now === null || before === null || now.all === before.all
        ? null
        : Math.round(((now.stolen - before.stolen) / (now.all - before.all)) * 1_000) / 10;
    return { loadBefore: this.#loadBefore, loadAfter: loadNow(), stolen, calibrations: [...this.#calibrations] };
  }
}
