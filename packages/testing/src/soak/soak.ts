/**
 * A soak: `rheo start` with several processes on a real store, under a steady stream of events, while things go wrong as a seed
 * says. Everything that is asked of the store and answered by it is written down, and judged at the end.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Rheo, RheoError } from "@rheo/core";
import { withoutPasswords } from "@rheo/core/internal";
import { GROUPS, HANG_MS, LEASE_MS, type SoakEnvironment } from "./app.ts";
import { checkSoak, type SoakEnd } from "./checker.ts";
import { Faults } from "./faults.ts";
import { History } from "./history.ts";
import { Hosts } from "./hosts.ts";
import { CALM_FILE } from "./inside.ts";
import { residentMiB, trendOf } from "./memory.ts";
import type { ChosenFault } from "./options.ts";
import type { Place } from "./place.ts";
import { type Appended, Producer } from "./producer.ts";
import { nowMicros, readRecords } from "./record.ts";
import { countDeliveries, type SoakReport } from "./report.ts";
import { FAULT_KINDS, schedule } from "./schedule.ts";
import { readStore } from "./store-end.ts";

export interface SoakOptions {
  readonly place: Place;
  /** 0: the processes are on this one. */
  readonly hosts: number;
  readonly faults: readonly ChosenFault[];
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
/** What TCP sends again after the longest outage of a link comes within so long. */
const LINK_MS = 8_000;
const LOOK_MS = 250;
const SAMPLE_MS = 1_000;

export const runSoak = async (options: SoakOptions): Promise<SoakReport> => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-soak-"));
  const stream = `soak-${options.seed}-${Date.now().toString(36)}`;
  const { place, seed, perSecond } = options;
  const mayEndThreads = options.faults.includes("thread");
  const inside = place.hasOneOwner ? { seed, perSecond, mayEndThreads } : null;
  const environment = { url: place.processUrl, folder, stream, inside };
  let isOk = false;
  try {
    const report = await new Soak(options, environment, place.hasOneOwner ? null : await Rheo.open(place.url)).run();
    isOk = report.ok;
    return report;
  } finally {
    if (isOk && !options.keep) rmSync(folder, { recursive: true, force: true });
  }
};

class Soak {
  readonly #options: SoakOptions;
  readonly #environment: SoakEnvironment;
  /** Null while the processes own the store. */
  #rheo: Rheo | null;
  readonly #appended: Appended[] = [];
  readonly #hosts: Hosts;
  readonly #faults: Faults;
  readonly #violations: string[] = [];
  readonly #frontiers: SoakEnd["frontiers"][number][] = [];
  readonly #memory = { parent: [] as number[], child: [] as number[] };

  constructor(options: SoakOptions, environment: SoakEnvironment, rheo: Rheo | null) {
    this.#options = options;
    this.#environment = environment;
    this.#rheo = rheo;
    const { rheo: command, processes, place } = options;
    const parents = { environment, rheo: command, config: CONFIG, processes, name: "" };
    this.#hosts = new Hosts(parents, place.network, Math.max(1, options.hosts));
    this.#faults = new Faults({
      folder: environment.folder,
      hosts: this.#hosts,
      cut: () => place.cut(),
      killServer: (awayMs) => place.killServer(awayMs),
    });
  }

  async run(): Promise<SoakReport> {
    const { stream } = this.#environment;
    let producer: Producer | null = null;
    try {
      if (!(await this.#until("all children are ready", () => this.#hosts.isWhole)))
        throw new Error(`The processes did not become ready. The last that was heard: ${this.#hosts.lastWords()}`);
      producer = this.#rheo === null ? null : this.#produce(this.#rheo);
      await this.#rage();
      await producer?.end();
      await this.#calm();
      this.#violations.push(...(await this.#hosts.end()));
      this.#rheo ??= await Rheo.open(this.#options.place.url);
      const end = await readStore(this.#rheo, stream, NAMES);
      this.#readInside();
      const report = this.#judge({ ...end, appended: this.#appended, frontiers: this.#frontiers });
      if (report.ok) await this.#rheo.deleteStream(stream, { confirm: true });
      return report;
    } finally {
      this.#faults.end();
      this.#hosts.close();
      await producer?.end();
      await this.#rheo?.close();
    }
  }

  #produce(rheo: Rheo): Producer {
    const { seed, perSecond, faults } = this.#options;
    const { stream } = this.#environment;
    const mayEndThreads = faults.includes("thread");
    const onAppended = (events: readonly Appended[]): void => void this.#appended.push(...events);
    return new Producer({ rheo, stream, seed, perSecond, mayEndThreads, from: 0, onAppended });
  }

  /** What the owner of the store wrote down. What it appended twice, since nobody knew, counts once. */
  #readInside(): void {
    const appended = new Map<number, Appended>();
    for (const record of readRecords(this.#environment.folder)) {
      if (record.kind === "appended") for (const event of record.events) appended.set(event.number, event);
      if (record.kind === "frontier") this.#frontiers.push(record);
    }
    this.#appended.push(...appended.values());
    if (appended.size > 0) this.#frontiers.sort((a, b) => a.from - b.from);
  }

  /** Everything goes wrong, at its time. */
  async #rage(): Promise<void> {
    const { seed, durationMs, pace } = this.#options;
    const startedMs = performance.now();
    const kinds = FAULT_KINDS.filter((kind) => this.#options.faults.includes(kind));
    const faults = [...schedule({ seed, durationMs, pace, leaseMs: LEASE_MS, hangMs: HANG_MS, kinds })];
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
    await this.#until("nothing is blocked any more", () => this.#faults.isQuiet);
    await this.#until("all children are ready again", () => this.#hosts.isWhole);
    if (this.#options.place.network !== null) await sleep(LINK_MS);
    writeFileSync(join(this.#environment.folder, CALM_FILE), "");
    for (const group of NAMES) await this.#until(`${group} has drained`, () => this.#isDrained(group));
    await this.#until("all orphans are gone", () => this.#hosts.orphans === 0);
    await this.#until("nothing is being replaced", () => this.#hosts.isWhole);
  }

  async #isDrained(group: string): Promise<boolean> {
    if (this.#rheo !== null) return (await this.#rheo.lag(this.#environment.stream, group)).lag === 0;
    let isDrained = false;
    for (const record of readRecords(this.#environment.folder))
      if (record.kind === "frontier" && record.group === group) isDrained ||= record.isDrained;
    return isDrained;
  }

  async #look(): Promise<void> {
    await sleep(LOOK_MS);
    this.#violations.push(...this.#hosts.look());
  }

  /** Memory, and where the frontiers are. The lag of each group, for people. */
  async #sample(): Promise<string> {
    for (const { pid, ready } of this.#hosts.current) {
      push(this.#memory.parent, residentMiB(pid));
      for (const child of ready) push(this.#memory.child, residentMiB(child));
    }
    const lags: string[] = [];
    if (this.#rheo === null) return "known to its owner";
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
    const ready = this.#hosts.current.reduce((sum, parent) => sum + parent.ready.length, 0);
    this.#options.progress(
      `${seconds(nowMs)} of ${seconds(this.#options.durationMs)} s, lag: ${lags}, ready: ${ready}, faults: ${faults.join(", ")}`,
    );
  }

  #judge(end: SoakEnd): SoakReport {
    const history = History.from(readRecords(this.#environment.folder));
    const found = checkSoak(history, end, { groups: NAMES, ordered: [GROUPS.keyed], maxAttempts: MAX_ATTEMPTS });
    const violations = [...this.#violations, ...found];
    const { seed, processes, hosts, pace, place, durationMs, keep } = this.#options;
    return {
      ok: violations.length === 0,
      store: withoutPasswords(place.url),
      seed,
      processes,
      hosts,
      pace,
      seconds: Math.round(durationMs / 1_000),
      node: process.version,
      folder: violations.length > 0 || keep ? this.#environment.folder : null,
      violations,
      appended: end.appended.length,
      groups: Object.fromEntries(NAMES.map((group) => [group, countDeliveries(history, group)])),
      faults: { ...this.#faults.counts, thread: this.#appended.filter(({ killsThread }) => killsThread).length },
      supervision: {
        started: this.#hosts.count("child.started"),
        failed: this.#hosts.count("child.failed"),
        unresponsive: this.#hosts.count("child.unresponsive"),
        rollsFinished: this.#hosts.count("restart.finished"),
        rollsAbandoned: this.#hosts.count("restart.abandoned"),
      },
      memory: { parent: trendOf(this.#memory.parent), child: trendOf(this.#memory.child) },
    };
  }

  /** Whether it came to be so in time; if not, it is a violation. */
  async #until(what: string, holds: () => boolean | Promise<boolean>): Promise<boolean> {
    const endMs = performance.now() + CALM_MS;
    while (!(await holds())) {
      await this.#look();
      if (performance.now() < endMs) continue;
      this.#violations.push(`after ${CALM_MS} ms still not: ${what}; last heard: ${this.#hosts.lastWords()}`);
      return false;
    }
    return true;
  }
}

const push = (samples: number[], sample: number | null): void => {
  if (sample !== null) samples.push(sample);
};
