/** Short runs of `npm run chaos`: everything goes wrong once, and the checker finds nothing. With RHEO_LONG on every store. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { isLong } from "@rheo/testing/internal";
import { findRedis, whyNoNetwork } from "@rheo/testing/servers";
import { expect, test } from "vitest";

const CHAOS = fileURLToPath(new URL("../../testing/dist/soak/main.js", import.meta.url));
/** Where the package `rheo` is found, as for who has installed it. */
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const seed = Number(process.env.RHEO_SEED ?? 20);

const PROCESSES = "kill,stop,block,roll,orphan,thread";
const LINKS = "kill,link-down,link-drop-out,link-drop-in,link-slow";

interface Report {
  readonly ok: boolean;
  readonly violations: readonly string[];
  readonly appended: number;
  readonly faults: Readonly<Record<string, number>>;
}

/** The report, which it prints also when it found something. */
const chaos = (...args: readonly string[]): Promise<Report> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, [CHAOS, "--json", ...args], { maxBuffer: 2 ** 26, cwd: ROOT }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(error ?? new Error(stderr));
      }
    });
  });

type Run = readonly [store: string, seconds: number, faults: string, more: readonly string[]];

/** All faults of processes, servers and links, and the kinds of stores there are: in a file, on a server, with hosts of their own. */
const RUNS: readonly Run[] = [
  ["sqlite", 12, PROCESSES, ["--processes", "3"]],
  ["postgres", 12, `${PROCESSES},cut,server-kill`, ["--processes", "3"]],
  ["redis", 12, LINKS, ["--hosts", "3", "--processes", "1"]],
];
/** The same for the others, which have kills and faults of their own beside them. */
const MORE_RUNS: readonly Run[] = [
  ["lmdb", 10, "kill,stop,block,thread", []],
  ["redis", 12, `${PROCESSES},cut,server-kill`, ["--processes", "3"]],
  ["mongo", 12, `${PROCESSES},server-kill`, ["--processes", "3"]],
  ["postgres", 12, LINKS, ["--hosts", "3", "--processes", "1"]],
];

/** Why a run is not to be had here; null when it is. In CI it is a failure. */
const whyNot = (store: string, more: readonly string[]): string | null => {
  if (process.env.CI === "true") return null;
  if (store === "redis" && findRedis() === null) return "there is no redis-server";
  return more.includes("--hosts") ? whyNoNetwork() : null;
};

test.for(isLong() ? [...RUNS, ...MORE_RUNS] : RUNS)(
  `RHEO_SEED=${seed}: chaos on %s for %d s with %s`,
  { timeout: 240_000 },
  async ([store, seconds, faults, more], { skip }) => {
    const why = whyNot(store, more);
    if (why !== null) skip(why);
    const report = await chaos(
      ...["--store", store, "--seconds", String(seconds), "--faults", faults, "--pace", "2", "--seed", String(seed), ...more],
    );
    console.log(
      `\nchaos on ${store} ${more.join(" ")}, seed ${seed}: ${report.appended} events, ${JSON.stringify(report.faults)}`,
    );
    expect(report.violations).toEqual([]);
    expect(report.appended).toBeGreaterThan(0);
    const missed = faults.split(",").filter((kind) => report.faults[kind] === 0 && kind !== "thread");
    expect(missed).toEqual([]);
  },
);
