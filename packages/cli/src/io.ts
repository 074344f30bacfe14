import picocolors from "picocolors";

export type Colors = ReturnType<typeof picocolors.createColors>;

/** What is needed of `process.stdout` and `process.stderr`. */
export interface Output {
  /** Absent on a pipe or file. */
  readonly isTTY?: boolean;
  /** Size of the terminal, in characters. */
  readonly columns?: number;
  readonly rows?: number;
  /** False: what was written waits in memory, until "drain". */
  write(text: string): unknown;
  /** Tells of a reader that is gone, and of room for more. */
  on?(event: "error" | "drain", listener: (error: unknown) => void): unknown;
  /** Ends what `on` began. */
  off?(event: "error" | "drain", listener: (error: unknown) => void): unknown;
}

/** What is needed of `process.stdin`. */
export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
  /** Each key by itself, on a terminal. */
  setRawMode?(isRaw: boolean): unknown;
}

/** Where a command reads and writes: the process, or what a test gives. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin?: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told of Ctrl-C, and of being asked to end. */
  on?(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
  /** Ends what `on` began. */
  off?(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/** Colours on a terminal that shows them, and that NO_COLOR does not forbid; else text unchanged. */
export const colorsFor = (output: Output, env: Io["env"]): Colors =>
  picocolors.createColors(output.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
