import { internalsOf } from "@rheo/core/internal";
import { type LabelSets, NO_LABELS } from "../labels.ts";
import type { WatchSettings } from "../options.ts";
import type { Recorder } from "../recorder.ts";
import { readApp, type Supervised } from "./app-readings.ts";
import type { Reading } from "./reading.ts";
import { readStore } from "./store-readings.ts";

/** A store that has not answered by then is taken to be away, so that a scrape has its answer within the ten seconds it is usually given. */
const STORE_MS = 5_000;

/** What the gauges say, read when somebody asks: once in `gaugesEveryMs`, and once for all who ask at the same time. Never fails. */
export class Gauges {
  readonly #settings: WatchSettings;
  readonly #sets: LabelSets;
  readonly #recorder: Recorder;
  readonly #apps = new Set<Supervised>();
  #last: { readonly readings: readonly Reading[]; readonly untilMs: number } | null = null;
  #reading: Promise<readonly Reading[]> | null = null;
  /** A reading of the store whose answer was not used yet. One that is late is for the next who asks; no other is begun beside it. */
  #store: Promise<readonly Reading[] | null> | null = null;

  constructor(settings: WatchSettings, sets: LabelSets, recorder: Recorder) {
    this.#settings = settings;
    this.#sets = sets;
    this.#recorder = recorder;
  }

  watch(app: Supervised): void {
    this.#apps.add(app);
  }

  async read(): Promise<readonly Reading[]> {
    if (this.#last !== null && this.#clock.monotonic() < this.#last.untilMs) return this.#last.readings;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return await this.#reading;
  }

  async #read(): Promise<readonly Reading[]> {
    this.#store ??= this.#readStore();
    const answer = await this.#inTime(this.#store);
    if (answer !== "late") this.#store = null;
    const store = answer === "late" ? null : answer;
    const isUp = { metric: "storeUp", labels: NO_LABELS, value: store === null ? 0 : 1 } as const;
    const readings = [isUp, ...(store ?? []), ...this.#readApps()];
    this.#last = { readings, untilMs: this.#clock.monotonic() + this.#settings.gaugesEveryMs };
    return readings;
  }

  #readApps(): Reading[] {
    for (const app of this.#apps) if (app.state === "stopped") this.#apps.delete(app);
    return [...this.#apps].flatMap((app) => readApp(app, this.#sets));
  }

  /** Null when nothing could be read. */
  async #readStore(): Promise<readonly Reading[] | null> {
    try {
      const { readings, failures } = await readStore(this.#settings, this.#sets);
      if (failures > 0) this.#recorder.add("readFailures", NO_LABELS, failures);
      return readings;
    } catch {
      this.#recorder.add("readFailures", NO_LABELS, 1); // rheo_store_up says it too
      return null;
    }
  }

  async #inTime<Value>(work: Promise<Value>): Promise<Value | "late"> {
    let end = (): void => undefined;
    const late = new Promise<"late">((resolve) => {
      const timer = this.#clock.schedule(STORE_MS, () => resolve("late"), { keepAlive: false });
      end = () => timer.cancel();
    });
    return await Promise.race([work, late]).finally(() => end());
  }

  get #clock(): ReturnType<typeof internalsOf>["clock"] {
    return internalsOf(this.#settings.rheo).clock;
  }
}
