import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Deferred, deferred } from "../deferred.ts";
import type { ChildInfo } from "../supervisor/child.ts";
import { EXIT } from "./exit-code.ts";
import { LineSplitter, type LogLine } from "./log-line.ts";
import { nodeOptions } from "./node-options.ts";
import { type Assignment, isToParent, type ToChild, type ToParent } from "./protocol.ts";

const ENTRY = fileURLToPath(new URL("./child.js", import.meta.url));
/** After the end of a process, for what it wrote to come through; a grandchild may hold the pipes open for ever. */
const FLUSH_MS = 500;

export interface ChildProcessHooks {
  /** @param serial - tells processes apart; see `FleetState` */
  heard(serial: number, message: ToParent): void;
  /** Once. `how`: in words. */
  exited(serial: number, how: string, isDrained: boolean): void;
  wrote(line: LogLine): void;
}

/** A running child as its parent handles it. */
export class ChildHandle {
  readonly serial: number;
  readonly child: string;
  /** What its last sign of life said. */
  rssBytes: number | null = null;
  children: readonly ChildInfo[] = [];
  readonly #process: ChildProcess;
  readonly #hooks: ChildProcessHooks;
  readonly #flushed: Deferred<void> = deferred();
  #hasExited = false;

  constructor(serial: number, child: string, assignment: Assignment, hooks: ChildProcessHooks) {
    this.serial = serial;
    this.child = child;
    this.#hooks = hooks;
    this.#process = fork(ENTRY, [child], {
      serialization: "advanced",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: nodeOptions(process.execArgv, process.env.NODE_OPTIONS),
    });
    this.#process.once("error", (error) => {
      if (this.#process.pid === undefined) this.#exited(`It could not be started: ${error.message}`, false);
    });
    this.#process.once("exit", (code, signal) => this.#exited(describeExit(code, signal), code === EXIT.drained));
    this.#process.once("close", () => this.#flushed.resolve());
    this.#process.on("message", (message: unknown) => this.#heard(message));
    this.#readLines();
    this.send(assignment);
  }

  /** 0 when it could not be started. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Resolves once it has ended and what it wrote has come through, or some time later. */
  get flushed(): Promise<void> {
    return this.#flushed.promise;
  }

  /** Nothing when it is gone. */
  send(message: ToChild): void {
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }

  /** SIGKILL, which also ends what is stopped. */
  kill(): void {
    if (!this.#hasExited) this.#process.kill("SIGKILL");
  }

  #heard(message: unknown): void {
    if (this.#hasExited || !isToParent(message)) return;
    if (message.type === "beat") {
      this.rssBytes = message.rssBytes;
      this.children = message.children;
    }
    this.#hooks.heard(this.serial, message);
  }

  #exited(how: string, isDrained: boolean): void {
    if (this.#hasExited) return;
    this.#hasExited = true;
    setTimeout(() => this.#letGo(), FLUSH_MS).unref();
    this.#hooks.exited(this.serial, how, isDrained);
  }

  #letGo(): void {
    this.#process.stdout?.destroy();
    this.#process.stderr?.destroy();
    this.#flushed.resolve();
  }

  #readLines(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const lines = new LineSplitter((text) => this.#hooks.wrote({ child: this.child, pid: this.pid, stream, text }));
      this.#process[stream]?.on("data", (chunk: Buffer) => lines.push(chunk));
      this.#process[stream]?.once("close", () => lines.end());
    }
  }
}

const describeExit = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `It exited with code ${code}.` : `It was ended by ${signal}.`;
