import picocolors from "picocolors";

export type Colors = ReturnType<typeof picocolors.createColors>;

/** What is needed of `process.stdout`. */
export interface Output {
  /** Absent on a pipe or file. */
  readonly isTTY?: boolean;
  readonly columns: number;
  write(text: string): unknown;
}

/** Of a terminal that does not say how wide it is. */
const DEFAULT_COLUMNS = 80;

/** Where people read: with colour and a line that is rewritten on a terminal, plain anywhere else. */
export class Terminal {
  readonly colors: Colors;
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
    this.colors = picocolors.createColors(output.isTTY === true && picocolors.isColorSupported); // which heeds NO_COLOR
  }

  line(text = ""): void {
    this.#output.write(`${this.#erase()}${text}\n`);
  }

  /** A line that the next one replaces; on a terminal only. */
  passing(text: string): void {
    if (this.#output.isTTY) this.#output.write(`${this.#erase()}${this.#cut(text)}`);
  }

  #erase(): string {
    return this.#output.isTTY ? "\r\u001b[2K" : "";
  }

  /** A line that wraps could not be erased again. */
  #cut(text: string): string {
    return text.slice(0, (this.#output.columns || DEFAULT_COLUMNS) - 1);
  }
}
