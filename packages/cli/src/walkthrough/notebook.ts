/** The process in which a notebook's code runs, block by block. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { RheoError } from "@rheo/core";
import type { CodeBlock } from "./block.ts";
import { notebookModule } from "./notebook-module.ts";
import type { Ended, ProgramOptions } from "./run-program.ts";

const CHILD = new URL("./notebook-child.js", import.meta.url).href;

export class Notebook implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #mark: string;
  readonly #blocks: number;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  readonly #exit: Promise<unknown>;
  #stdout = "";
  #stderr = "";
  #hasEnded = false;
  #changed: () => void = () => undefined;
  /** The block before which it stands. */
  #at = -1;

  /** @param name - of the page; the module is named after it */
  static async start(name: string, blocks: readonly CodeBlock[], options: ProgramOptions): Promise<Notebook> {
    const module = join(options.cwd, `${basename(name)}.mjs`);
    await writeFile(module, notebookModule(blocks));
    return new Notebook(module, blocks.length, options);
  }

  private constructor(module: string, blocks: number, { cwd, env, signal, timeoutMs }: ProgramOptions) {
    this.#mark = `\u0002${randomUUID()} `;
    this.#blocks = blocks;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#child = spawn(process.execPath, ["--import", CHILD, module], {
      cwd,
      env: { ...env, RHEO_NOTEBOOK_MARK: this.#mark, RHEO_NOTEBOOK_BLOCKS: String(blocks) },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(() => (this.#stdout += text)));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#hear(() => (this.#stderr += text)));
    this.#exit = once(this.#child, "close").then(() => this.#hear(() => (this.#hasEnded = true)));
    signal.addEventListener("abort", this.#changedNow, { once: true });
  }

  /** Runs the next block: what it printed, and 0, or how the process ended in it. Of the last one also that nothing keeps it alive. */
  async next(): Promise<Ended> {
    const before = this.#at === -1 ? await this.#reach(0) : { stdout: "", stderr: "" };
    if (this.#hasEnded) return { ...before, code: this.#child.exitCode };
    this.#child.send("on", () => undefined); // one that has just ended is noticed by its end
    const printed = await this.#reach(this.#at + 1);
    if (this.#at < this.#blocks && !this.#hasEnded) return { ...printed, code: 0 };
    const rest = await this.#end();
    return { stdout: printed.stdout + rest.stdout, stderr: printed.stderr + rest.stderr, code: this.#child.exitCode };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#changedNow);
    this.#child.kill("SIGKILL");
    await this.#exit;
  }

  readonly #changedNow = (): void => this.#changed();

  #hear(note: () => void): void {
    note();
    this.#changed();
  }

  /** Until it stops before a block, or ends: what it printed until then. */
  async #reach(index: number): Promise<Omit<Ended, "code">> {
    const mark = `${this.#mark}${index}\n`;
    await this.#until(() => this.#stdout.includes(mark) && this.#stderr.includes(mark));
    this.#at = index;
    const [stdout = "", laterOut = ""] = this.#stdout.split(mark);
    const [stderr = "", laterErr = ""] = this.#stderr.split(mark);
    this.#stdout = laterOut;
    this.#stderr = laterErr;
    return { stdout, stderr };
  }

  async #end(): Promise<Omit<Ended, "code">> {
    await this.#until(() => false);
    return { stdout: this.#stdout, stderr: this.#stderr };
  }

  /** Or until it ends; then it is not waited for any longer. Whoever takes too long is killed. */
  async #until(holds: () => boolean): Promise<void> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), this.#timeoutMs);
    try {
      while (!this.#hasEnded && !holds()) {
        if (this.#signal.aborted) throw new RheoError("aborted", "Interrupted.");
        await new Promise<void>((resolve) => (this.#changed = resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
