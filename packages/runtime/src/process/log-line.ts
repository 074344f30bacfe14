import { StringDecoder } from "node:string_decoder";

/** A line that a process wrote, without its end. */
export interface LogLine {
  /** The place of the process, as in `children()`. */
  readonly child: string;
  readonly pid: number;
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** Prints to the stream of the same name, with the process before it. */
export const printLine = ({ child, pid, stream, text }: LogLine): void =>
  void process[stream].write(`${child}/${pid} | ${text}\n`);

/** A longer line is cut into several, so that a process that never ends its line fills nobody's memory. In UTF-16 units. */
const MAX_LINE = 65_536;

/** Makes lines of what comes in pieces: whole ones, whatever else is written meanwhile. */
export class LineSplitter {
  readonly #decoder = new StringDecoder("utf8");
  readonly #take: (text: string) => void;
  #rest = "";

  constructor(take: (text: string) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    const lines = `${this.#rest}${this.#decoder.write(chunk)}`.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#give(line);
    while (this.#rest.length > MAX_LINE) {
      this.#take(this.#rest.slice(0, MAX_LINE));
      this.#rest = this.#rest.slice(MAX_LINE);
    }
  }

  /** Gives what was begun and not ended. */
  end(): void {
    const rest = `${this.#rest}${this.#decoder.end()}`;
    this.#rest = "";
    if (rest !== "") this.#give(rest);
  }

  #give(line: string): void {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    for (let at = 0; at === 0 || at < text.length; at += MAX_LINE) this.#take(text.slice(at, at + MAX_LINE));
  }
}
