import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";

/** A store with jobs in it, on SQLite in a folder of its own or at the URL given. */
export interface Jobs extends AsyncDisposable {
  readonly folder: string;
  readonly store: string;
  readonly rheo: Rheo;
  append(...payloads: readonly object[]): Promise<void>;
  lag(): Promise<number>;
  leases(): Promise<number>;
  caughtUp(): Promise<void>;
  /** File that jobs are told to note their starts in. */
  readonly log: string;
  /** Resolves when so many handlers have begun that note it. */
  begun(count: number): Promise<void>;
}

export const openJobs = async (payloads: readonly object[] = [], url?: string): Promise<Jobs> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-cli-"));
  const store = url ?? `sqlite:${join(folder, "events.db")}`;
  const rheo = await Rheo.open(store);
  await rheo.ensureStream("jobs", { partitions: 2 });
  await rheo.ensureGroup("jobs", "workers", { retry: { minMs: 0, maxMs: 0 } });
  const jobs: Jobs = {
    folder,
    store,
    rheo,
    log: join(folder, "log"),
    begun: (count) => until(`${count} have begun`, () => starts(join(folder, "log")).length >= count),
    append: async (...more) => {
      if (more.length > 0)
        await rheo.appendMany(
          "jobs",
          more.map((payload) => ({ payload: { log: jobs.log, ...payload } })),
        );
    },
    lag: async () => (await rheo.lag("jobs", "workers")).lag,
    leases: async () => (await rheo.leases("jobs", "workers")).length,
    caughtUp: () => until("all is settled", async () => (await jobs.lag()) === 0),
    [Symbol.asyncDispose]: async () => {
      await rheo.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
  await jobs.append(...payloads);
  return jobs;
};

/** The attempts with which handlers began, in order. */
export const starts = (log: string): number[] =>
  existsSync(log)
    ? readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => Number(line.split(" ")[1]))
    : [];

/** Looks until a condition holds; fails after 30 s. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const endMs = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`Still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
