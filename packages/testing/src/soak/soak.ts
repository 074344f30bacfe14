/**
 * A soak: `rheo start` with several processes on a real store, under a steady stream of events, while things go wrong as a seed
 * says. Everything that is asked of the store and answered by it is written down, and judged at the end.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Rheo, RheoError } from "@rheo/core";
import { withoutPasswords } from "@rheo/core/internal";
import { seeded } from "../random.ts";
import { GROUPS, HANG_MS, LEASE_MS, PARTITIONS, type SoakEnvironment } from "./app.ts";
import { checkSoak, type SoakEnd } from "./checker.ts";
import { Faults } from "./faults.ts";
import { History } from "./history.ts";
import { residentMiB, trendOf } from "./memory.ts";
import { Parents } from "./parents.ts";
import { Producer } from "./producer.ts";
import { nowMicros, readRecords } from "./record.ts";
import { countDeliveries, type SoakReport } from "./report.ts";
import { schedule } from "./schedule.ts";
import { readStore } from "./store-end.ts";

export interface SoakOptions {
  /** A store that processes share. */
  readonly url: string;
  readonly durationMs: number;
  readonly processes: number;
  readonly seed: number;
  /** How often things go wrong, as a multiple. */
  readonly pace: number;
  /** Events appended per second. */
  readonly perSecond: number;
  /** The command that runs `rheo`, without its arguments. */
  readonly rheo: readonly string[];
  /** Leaves what was written down, which otherwise is left only when there is a violation. */
  readonly keep: boolean;
  /** Told now and then how it goes. */
  readonly progress: (text: string) => void;
}

const CONFIG = fileURLToPath(new URL("./app.config.js", import.meta.url));
const NAMES = Object.values(GROUPS);
/** As the config says. */
const MAX_ATTEMPTS = 200;
/** Everything must have drained so long after the last fault. */
const CALM_MS = 120_000;
const LOOK_MS = 250;
const SAMPLE_MS = 1_000;

export const runSoak = async (options: SoakOptions): Promise<SoakReport> => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-soak-"));
  const stream = `soak-${options.seed}-${Date.now().toString(36)}`;
  const rheo = await Rheo.open(options.url);
  let isOk = false;
  try {
    await rheo.createStream(stream, { partitions: PARTITIONS });
    const report = await new Soak(options, { url: options.url, folder, stream }, rheo).run();
    isOk = report.ok;
    await rheo.deleteStream(stream, { confirm: true });
    return report;
  } finally {
    await rheo.close();
    if (isOk && !options.keep) rmSync(folder, { recursive: true, force: true });
  }
};

class Soak {
  readonly #options: SoakOptions;
  readonly #environment: SoakEnvironment;
  readonly #rheo: Rheo;
  readonly #parents: Parents;
  readonly #faults: Faults;
  readonly #violations: string[] = [];
  readonly #frontiers: SoakEnd["frontiers"][number][] = [];
  readonly #memory = { parent: [] as number[], child: [] as number[] };

  constructor(options: SoakOptions, environment: SoakEnvironment, rheo: Rheo) {
    this.#options = options;
    this.#environment = environment;
    this.#rheo = rheo;
    this.#parents = new Parents({ environment, rheo: options.rheo, config: CONFIG, processes: options.processes });
    this.#faults = new Faults({
      folder: environment.folder,
      parent: () => this.#parents.current,
      replaceParent: () => this.#parents.replace(),
    });
  }

  async run(): Promise<SoakReport> {
    const { seed, perSecond } = this.#options;
    const { stream } = this.#environment;
    try {
      await this.#until("all children are ready", () => this.#parents.isWhole);
      const producer = new Producer(this.#rheo, stream, seeded(seed), perSecond);
      await this.#rage();
      await producer.end();
      await this.#calm();
      const code = await this.#parents.end();
      if (code !== 0) this.#violations.push(`SIGTERM ended rheo start with ${code}, not 0: ${this.#parents.lastWords()}`);
      return this.#judge(producer, {
        ...(await readStore(this.#rheo, stream, NAMES)),
        appended: producer.appended,
        frontiers: this.#frontiers,
      });
    } finally {
      this.#faults.end();
      this.#parents.close();
    }
  }

  /** Everything goes wrong, at its time. */
  async #rage(): Promise<void> {
    const { seed, durationMs, pace } = this.#options;
    const startedMs = performance.now();
    const faults = [...schedule({ seed, durationMs, pace, leaseMs: LEASE_MS, hangMs: HANG_MS })];
    let sampledMs = Number.NEGATIVE_INFINITY;
    for (let nowMs = 0; nowMs < durationMs; nowMs = performance.now() - startedMs) {
      while (faults[0] !== undefined && faults[0].atMs <= nowMs && this.#faults.inject(faults[0])) faults.shift();
      await this.#look();
      if (nowMs - sampledMs < SAMPLE_MS) continue;
      sampledMs = nowMs;
      this.#tell(nowMs, await this.#sample());
    }
  }

  /** Nothing goes wrong any more, and everything must drain. */
  async #calm(): Promise<void> {
    this.#faults.end();
    const { stream } = this.#environment;
    await this.#until("nothing is blocked any more", () => this.#faults.isQuiet);
    await this.#until("all children are ready again", () => this.#parents.isWhole);
    for (const group of NAMES)
      await this.#until(`${group} has drained`, async () => (await this.#rheo.lag(stream, group)).lag === 0);
    await this.#until("all orphans are gone", () => this.#parents.orphans === 0);
    await this.#until("nothing is being replaced", () => this.#parents.isWhole);
  }

  async #look(): Promise<void> {
    await sleep(LOOK_MS);
    this.#violations.push(...this.#parents.look());
  }

  /** Memory, and where the frontiers are. The lag of each group, for people. */
  async #sample(): Promise<string> {
    const { pid, ready } = this.#parents.current;
    push(this.#memory.parent, residentMiB(pid));
    for (const child of ready) push(this.#memory.child, residentMiB(child));
    const lags: string[] = [];
    for (const group of NAMES) {
      const from = nowMicros();
      try {
        const { lag, partitions } = await this.#rheo.lag(this.#environment.stream, group);
        this.#frontiers.push({ group, from, to: nowMicros(), frontier: partitions.map(({ frontier }) => frontier) });
        lags.push(`${group} ${lag}`);
      } catch (error) {
        if (!RheoError.is(error, "unavailable")) throw error; // as when a stopped process holds the store
      }
    }
    return lags.join(", ");
  }

  #tell(nowMs: number, lags: string): void {
    const seconds = (ms: number): number => Math.round(ms / 1_000);
    const faults = Object.entries(this.#faults.counts).map(([kind, count]) => `${kind} ${count}`);
    const { ready } = this.#parents.current;
    this.#options.progress(
      `${seconds(nowMs)} of ${seconds(this.#options.durationMs)} s, lag: ${lags}, ready: ${ready.length}, faults: ${faults.join(", ")}`,
    );
  }

  #judge(producer: Producer, end: SoakEnd): SoakReport {
    const history = History.from(readRecords(this.#environment.folder));
    const found = checkSoak(history, end, { groups: NAMES, ordered: [GROUPS.keyed], maxAttempts: MAX_ATTEMPTS });
    const violations = [...this.#violations, ...found];
    const { seed, processes, pace, url, durationMs, keep } = this.#options;
    return {
      ok: violations.length === 0,
      store: withoutPasswords(url),
      seed,
      processes,
      pace,
      seconds: Math.round(durationMs / 1_000),
      node: process.version,
      folder: violations.length > 0 || keep ? this.#environment.folder : null,
      violations,
      appended: end.appended.length,
      groups: Object.fromEntries(NAMES.map((group) => [group, countDeliveries(history, group)])),
      faults: { ...this.#faults.counts, thread: producer.appended.filter(({ killsThread }) => killsThread).length },
      supervision: {
        started: this.#parents.count("child.started"),
        failed: this.#parents.count("child.failed"),
        unresponsive: this.#parents.count("child.unresponsive"),
        rollsFinished: this.#parents.count("restart.finished"),
        rollsAbandoned: this.#parents.count("restart.abandoned"),
      },
      memory: { parent: trendOf(this.#memory.parent), child: trendOf(this.#memory.child) },
    };
  }

  async #until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + CALM_MS;
    while (!(await holds())) {
      await this.#look();
      if (performance.now() < endMs) continue;
      this.#violations.push(`after ${CALM_MS} ms still not: ${what}; last heard: ${this.#parents.lastWords()}`);
      return;
    }
  }
}

const push = (samples: number[], sample: number | null): void => {
  if (sample !== null) samples.push(sample);
};
