import { systemClock } from "@rheo/core";
import { type Colors, colorsFor, type Io, type Output } from "../io.ts";

/** What text is laid out for. */
export interface Screen {
  /** Width of the terminal; null on a pipe, where nothing is cut. */
  readonly columns: number | null;
  readonly rows: number | null;
  readonly colors: Colors;
  /** What "ago" is counted from. */
  readonly nowMs: number;
}

/** A terminal that does not tell its size, or tells 0, as one without a window does. */
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** The screen behind an output, as it is now. */
export const screenOf = (output: Output, env: Io["env"]): Screen => {
  const isTerminal = output.isTTY === true;
  return {
    columns: isTerminal ? output.columns || DEFAULT_COLUMNS : null,
    rows: isTerminal ? output.rows || DEFAULT_ROWS : null,
    colors: colorsFor(output, env),
    nowMs: systemClock.now(),
  };
};
