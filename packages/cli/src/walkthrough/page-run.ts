/** Runs the blocks of a page, one after another, in a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CodeBlock, CommandBlock, FileBlock, Step } from "./block.ts";
import { difference, type Printed } from "./expected.ts";
import { Notebook } from "./notebook.ts";
import type { Page } from "./page.ts";
import { type Ended, type ProgramOptions, runProgram } from "./run-program.ts";

export interface PageRunOptions {
  /** Files are written there, and commands run there; packages must resolve from there. */
  readonly folder: string;
  /** Beyond that of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends what runs. */
  readonly signal?: AbortSignal;
  /** Of one command, or one block of a notebook, in ms. Default a minute. */
  readonly timeoutMs?: number;
}

/** What came of a block that ran. */
export interface Outcome extends Printed {
  /** How that is not as the page says; null when it is. */
  readonly difference: string | null;
}

const TIMEOUT_MS = 60_000;
const RHEO = fileURLToPath(new URL("../bin.js", import.meta.url));
const NEVER = new AbortController().signal;

/** Not so that children print colours, or what this Node warns of its own parts, or look into the user's store. */
const environment = (): NodeJS.ProcessEnv => {
  const { FORCE_COLOR: _colour, RHEO_STORE: _store, NODE_OPTIONS = "", ...rest } = process.env;
  return { ...rest, NO_COLOR: "1", NODE_OPTIONS: `${NODE_OPTIONS} --disable-warning=ExperimentalWarning`.trim() };
};

export class PageRun implements AsyncDisposable {
  readonly #page: Page;
  readonly #program: ProgramOptions;
  readonly #env: NodeJS.ProcessEnv;
  #notebook: Notebook | null = null;

  /** Writes the files of the page. */
  static async open(page: Page, options: PageRunOptions): Promise<PageRun> {
    const files = page.steps.filter((step) => step.kind === "file");
    for (const file of files.toReversed()) await writeBlock(options.folder, file); // so the first of a name is there
    return new PageRun(page, options);
  }

  private constructor(page: Page, { folder, env = {}, signal = NEVER, timeoutMs = TIMEOUT_MS }: PageRunOptions) {
    this.#page = page;
    this.#env = { ...environment(), ...env };
    this.#program = { cwd: folder, env: this.#env, signal, timeoutMs };
  }

  /** The next step of the page, each once and in order; null where nothing ran. @throws AbortError - the signal has aborted */
  async run(step: Step): Promise<Outcome | null> {
    switch (step.kind) {
      case "prose":
      case "shown":
        return null;
      case "file":
        await writeBlock(this.#program.cwd, step);
        return null;
      case "commands":
        return this.#commands(step);
      case "code": {
        const printed = printedOf(await this.#code());
        return { ...printed, difference: difference(step.expected ?? NOTHING, printed) };
      }
      default:
        return step satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#notebook?.[Symbol.asyncDispose]();
  }

  /** Where the page says what is printed, that is of the last one; all others succeed, without a word on stderr. */
  async #commands({ commands, expected }: CommandBlock): Promise<Outcome> {
    const last = commands.findLast(({ kind }) => kind === "run");
    let whole: Outcome = { output: "", code: 0, difference: null };
    for (const command of commands) {
      if (command.kind === "export") {
        this.#env[command.name] = "from" in command ? this.#env[command.from] : command.value;
        continue;
      }
      const args = command.program === "rheo" ? [RHEO, ...command.args] : command.args;
      const ended = await runProgram(args, { ...this.#program, env: this.#env });
      const printed = printedOf(ended);
      const differs = command === last && expected !== null ? difference(expected, printed) : failureOf(ended);
      whole = { output: whole.output + printed.output, code: printed.code, difference: null };
      if (differs !== null) return { ...whole, difference: `${command.text}\n${differs}` };
    }
    return whole;
  }

  async #code(): Promise<Ended> {
    if (this.#notebook === null) {
      const blocks = this.#page.steps.filter((step): step is CodeBlock => step.kind === "code");
      this.#notebook = await Notebook.start(this.#page.name, blocks, { ...this.#program, env: this.#env });
    }
    return this.#notebook.next();
  }
}

const NOTHING = { lines: [], code: 0, isAnyOrder: false } as const;

const printedOf = ({ stdout, stderr, code }: Ended): Printed => ({ output: stdout + stderr, code });

const failureOf = ({ stderr, code }: Ended): string | null => {
  if (code !== 0) return `It ended with ${code ?? "a signal, as what takes too long"}: ${stderr}`;
  return stderr === "" ? null : `It complained: ${stderr}`;
};

const writeBlock = async (folder: string, { name, code }: FileBlock): Promise<void> => {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, code);
};
