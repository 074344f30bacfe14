import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

type WorkerName = "billing" | "mailing";

/** How long they may take to end in good order. */
const END_MS = 15_000;
/** So that one that cannot start does not keep the machine busy. */
const RESTART_MS = 200;

/** Worker processes that are started again when they die, until they are ended. In production that is `rheo start`'s or systemd's work. */
export class WorkerProcesses implements AsyncDisposable {
  kills = 0;
  readonly #env: NodeJS.ProcessEnv;
  readonly #running = new Set<ChildProcess>();
  readonly #working = new Set<ChildProcess>();
  #isEnding = false;

  /** @param env - DATABASE_URL and MAIL_URL */
  constructor(env: Readonly<Record<string, string>>) {
    this.#env = { ...process.env, ...env };
  }

  start(name: WorkerName): void {
    const path = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
    const worker = fork(path, [], { env: this.#env }); // the options of this process, so tsx, go with it
    this.#running.add(worker);
    worker.once("message", () => this.#working.add(worker)); // the one thing it ever says
    worker.once("exit", (code, signal) => {
      this.#running.delete(worker);
      this.#working.delete(worker);
      if (this.#isEnding) return;
      if (signal !== "SIGKILL") console.error(`${name} ended with ${signal ?? code}, and is started again`);
      setTimeout(() => {
        if (!this.#isEnding) this.start(name);
      }, RESTART_MS);
    });
  }

  /** SIGKILL for one of those at work, if there is any: nothing is flushed, nobody is told. */
  killOne(random: number): void {
    const worker = [...this.#working][Math.floor(random * this.#working.size)];
    if (worker?.kill("SIGKILL")) this.kills++;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    const ended = [...this.#running].map((worker) => new Promise((resolve) => worker.once("exit", resolve)));
    for (const worker of this.#running) worker.kill("SIGTERM");
    const late = setTimeout(() => [...this.#running].forEach((worker) => void worker.kill("SIGKILL")), END_MS);
    await Promise.all(ended);
    clearTimeout(late);
  }
}
