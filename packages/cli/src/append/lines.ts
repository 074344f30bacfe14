import { StringDecoder } from "node:string_decoder";
import { CommandFailure } from "../failure.ts";

/** A line of the largest event that any store takes, and its JSON around it. In UTF-16 units. */
const MAX_LINE = 20_000_000;

export interface Line {
  readonly text: string;
  /** From 1. */
  readonly number: number;
}

/** The lines of an input that are not empty, however it is cut. @throws input - a line without end */
export async function* linesOf(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<Line, void, void> {
  const decoder = new StringDecoder("utf8");
  let number = 0;
  let rest = "";
  const take = function* (texts: readonly string[]): Generator<Line, void, void> {
    for (const text of texts) {
      number += 1;
      if (text.trim() !== "") yield { text, number };
    }
  };
  for await (const chunk of input) {
    const [first = "", ...more] = (typeof chunk === "string" ? chunk : decoder.write(Buffer.from(chunk))).split("\n");
    const texts = [rest + first, ...more];
    rest = texts.pop() ?? "";
    if (rest.length > MAX_LINE)
      throw new CommandFailure("input", `Line ${number + texts.length + 1} is longer than any event may be.`);
    yield* take(texts);
  }
  yield* take([rest + decoder.end()]);
}
