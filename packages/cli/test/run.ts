import { EventEmitter } from "node:events";
import { type Input, type Io, main } from "@rheo/cli";

/** How a command line is run. */
export interface RunOptions {
  readonly store?: string;
  /** What comes by stdin: from a pipe, or with `columns` typed at a terminal. */
  readonly stdin?: readonly string[];
  /** Both outputs are a terminal of this width. */
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process, until it ends. */
export const run = async (args: string | readonly string[], options: RunOptions = {}): Promise<Ran> => {
  const running = new Running(args, options);
  return { code: await running.code, out: running.out, err: running.err };
};

/** The values of JSON that were printed, one on each line. */
export const values = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);

/** A command line at work in this process, on a terminal or on pipes. */
export class Running {
  out = "";
  err = "";
  readonly code: Promise<number>;
  readonly #signals = new EventEmitter();
  readonly #stdout = new EventEmitter();
  readonly #typed = new EventEmitter();
  /** What setRawMode was told last. */
  isRaw = false;

  constructor(args: string | readonly string[], { store, stdin, columns, rows, env = {} }: RunOptions = {}) {
    const size = columns === undefined ? {} : { isTTY: true, columns, rows: rows ?? 24 };
    const io: Io = {
      stdout: Object.assign(this.#stdout, { ...size, write: (text: string) => (this.out += text) }),
      stderr: { ...size, write: (text) => (this.err += text) },
      ...(stdin === undefined ? {} : { stdin: this.#input(stdin, columns !== undefined) }),
      env: { ...(store === undefined ? {} : { RHEO_STORE: store }), ...env },
      on: (signal, listener) => this.#signals.on(signal, listener),
      off: (signal, listener) => this.#signals.off(signal, listener),
    };
    this.code = main(typeof args === "string" ? args.split(" ") : args, io);
  }

  signal(name: "SIGINT" | "SIGTERM"): void {
    this.#signals.emit(name);
  }

  /** Nobody reads stdout any more. */
  loseReader(): void {
    this.#stdout.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  }

  type(keys: string): void {
    this.#typed.emit("keys", keys);
  }

  #input(chunks: readonly string[], isTerminal: boolean): Input {
    const typed = this.#typed;
    return {
      isTTY: isTerminal,
      setRawMode: (isRaw) => (this.isRaw = isRaw),
      async *[Symbol.asyncIterator]() {
        for (const chunk of chunks) {
          await new Promise((resolve) => setImmediate(resolve)); // as input comes: not all in one turn of the event loop
          yield chunk;
        }
        for (;;) {
          if (!isTerminal) return;
          yield await new Promise<string>((resolve) => typed.once("keys", resolve));
        }
      },
    };
  }
}
