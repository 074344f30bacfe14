import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { until } from "./jobs.ts";

/** The bin of the package `rheo`, which is this command line. */
const BIN = fileURLToPath(new URL("../../rheo/bin/rheo.js", import.meta.url));

export const fixturePath = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

/** A `rheo` at work in a process group of its own, as in a terminal. What it leaves behind is killed at the end of its scope. */
export class RheoCommand implements AsyncDisposable {
  stdout = "";
  stderr = "";
  readonly #process: ChildProcess;
  readonly #ended: Promise<number | null>;

  constructor(args: readonly string[], options: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {}) {
    const { RHEO_STORE: _, ...env } = process.env;
    this.#process = spawn(process.execPath, [BIN, ...args], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...env, NO_COLOR: "", ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    this.#process.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#ended = new Promise((resolve) => this.#process.once("close", (code) => resolve(code)));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Null when a signal ended it. */
  get code(): Promise<number | null> {
    return this.#ended;
  }

  /** The pids of its children that are ready, as it printed them: the last one of each place. */
  get readyPids(): number[] {
    const byPlace = new Map<string, number>();
    for (const [, child = "", pid] of this.stdout.matchAll(/rheo \| (process-\d+) is ready, pid (\d+)/g))
      byPlace.set(child, Number(pid));
    return [...byPlace.values()];
  }

  async ready(): Promise<this> {
    await until(`ready (${this.stderr})`, () => /ready: \d+ process/.test(this.stdout) || this.#process.exitCode !== null);
    return this;
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  signalGroup(name: NodeJS.Signals): void {
    process.kill(-this.pid, name);
  }

  /** Nobody reads its output any more. */
  closeOutput(): void {
    this.#process.stdout?.destroy();
    this.#process.stderr?.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.signalGroup("SIGKILL");
    } catch {
      // nothing is left of it
    }
    await this.#ended;
  }
}
