import picocolors from "picocolors";

export type Colors = ReturnType<typeof picocolors.createColors>;

/** What is needed of `process.stdout` and `process.stderr`. */
export interface Output {
  /** Absent on a pipe or file. */
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Where a command reads and writes: the process, or what a test gives. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Colours on a terminal that shows them, and that NO_COLOR does not forbid; else text unchanged. */
export const colorsFor = (output: Output, env: Io["env"]): Colors =>
  picocolors.createColors(output.isTTY === true && !env.NO_COLOR && picocolors.isColorSupported);
