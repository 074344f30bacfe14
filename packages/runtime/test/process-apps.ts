import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import type { LogLine, ProcessEvent, SuperviseProcessesOptions } from "@rheo/runtime";
import { ProcessParent, parseProcessesOptions } from "@rheo/runtime/internal";

/** A folder with a store on SQLite, that holds jobs. */
export interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly store: string;
  readonly rheo: Rheo;
}

export const openPlace = async (payloads: readonly object[] = []): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-process-"));
  const store = `sqlite:${join(folder, "events.db")}`;
  const rheo = await Rheo.open(store);
  await rheo.ensureStream("jobs", { partitions: 2 });
  await rheo.ensureGroup("jobs", "workers", { retry: { minMs: 0, maxMs: 0 } });
  await appendJobs(rheo, payloads);
  return {
    folder,
    store,
    rheo,
    [Symbol.asyncDispose]: async () => {
      await rheo.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

export const appendJobs = async (rheo: Rheo, payloads: readonly object[]): Promise<void> => {
  if (payloads.length > 0)
    await rheo.appendMany(
      "jobs",
      payloads.map((payload) => ({ payload: { ...payload } })),
    );
};

/** The fixture config with a query, as a URL. */
export const configOf = (query: Readonly<Record<string, string | number>>): URL => {
  const url = new URL("./fixtures/process-app.config.mjs", import.meta.url);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
};

/** A parent that is watched from its first moment, ended at the end of its scope. */
export class Watched implements AsyncDisposable {
  readonly parent: ProcessParent;
  readonly events: ProcessEvent[] = [];
  readonly lines: LogLine[] = [];

  constructor(options: SuperviseProcessesOptions) {
    this.parent = new ProcessParent(
      parseProcessesOptions({
        beatMs: 100,
        hangMs: 2_000,
        restart: { minMs: 10, maxMs: 100 },
        onLine: (line) => void this.lines.push(line),
        ...options,
      }),
    );
    this.parent.observe((event) => this.events.push(event));
  }

  static async start(options: SuperviseProcessesOptions): Promise<Watched> {
    const watched = new Watched(options);
    await watched.parent.start();
    return watched;
  }

  types(): string[] {
    return this.events.map(({ type }) => type);
  }

  count(type: ProcessEvent["type"]): number {
    return this.types().filter((one) => one === type).length;
  }

  /** Pids of the processes that hold a place, by place. */
  pids(): number[] {
    return this.parent.children().map(({ details }) => details.pid ?? 0);
  }

  allReady(): boolean {
    return this.parent.children().every(({ state }) => state === "running");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.parent.stop({ timeoutMs: 0 });
  }
}

/** Whether a process is there; one that has ended and was not yet waited for is not. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
