import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";

/** A `rheo start --json` at work, followed by what it prints. */
export class RheoStart {
  /** Pids of the children that are ready, in the order in which they became so. */
  readonly ready: number[] = [];
  /** Of all children that were started and have not been seen to end. */
  readonly alive: Set<number> = new Set();
  /** How often each type of event came. */
  readonly counts: Map<string, number> = new Map();
  /** What it complained of, the last of it. */
  readonly complaints: string[] = [];
  readonly ended: Promise<number | null>;
  readonly #process: ChildProcess;

  /** @param log - a file that gets everything it prints */
  constructor(command: readonly string[], env: Readonly<Record<string, string>>, log: string) {
    const [program = process.execPath, ...args] = command;
    this.#process = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    const file = createWriteStream(log);
    this.#process.stdout?.pipe(file, { end: false });
    this.#process.stderr?.pipe(file, { end: false });
    if (this.#process.stdout !== null) createInterface(this.#process.stdout).on("line", (line) => this.#heard(line));
    if (this.#process.stderr !== null) createInterface(this.#process.stderr).on("line", (line) => this.#complained(line));
    this.ended = new Promise((resolve) =>
      this.#process.once("close", (code) => {
        file.end();
        resolve(code);
      }),
    );
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  #heard(line: string): void {
    const event = JSON.parse(line) as {
      readonly type: string;
      readonly pid?: number;
      readonly processes?: number;
      readonly text?: string;
      readonly error?: string;
    }; // as `--json` promises
    this.counts.set(event.type, (this.counts.get(event.type) ?? 0) + 1);
    const { pid = 0 } = event;
    switch (event.type) {
      case "child.started":
        return void this.alive.add(pid);
      case "ready": // alone: it is its own and only process
        if (event.processes !== 1) return;
        this.alive.add(this.pid);
        return void this.ready.push(this.pid);
      case "child.ready":
        return void this.ready.push(pid);
      case "child.failed":
      case "child.stopped":
        this.alive.delete(pid);
        if (this.ready.includes(pid)) this.ready.splice(this.ready.indexOf(pid), 1);
        if (event.error !== undefined) this.#complained(event.error);
        return;
      case "line":
      case "warn":
        return this.#complained(event.text ?? "");
      default:
        return;
    }
  }

  #complained(text: string): void {
    this.complaints.push(text);
    if (this.complaints.length > MAX_COMPLAINTS) this.complaints.shift();
  }
}

const MAX_COMPLAINTS = 200;
