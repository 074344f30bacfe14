/** What a page says that is printed, and how what was printed differs. */
import { PageError } from "./page-error.ts";

export interface Expected {
  /** `…` in a line stands for anything, a line of `…` for any number of lines. */
  readonly lines: readonly string[];
  readonly code: number;
  /** The order of the lines depends on chance. */
  readonly isAnyOrder: boolean;
}

/** What ran printed, on stdout and then on stderr, and its exit code; null when it was ended. */
export interface Printed {
  readonly output: string;
  readonly code: number | null;
}

const ANY = "…";

/** @param words - of the fence's line, after `text` */
export const expectedOf = (block: string, words: readonly string[]): Expected => {
  const unknown = words.find((word) => word !== "any-order");
  if (unknown !== undefined) throw new PageError(`has a block of text with "${unknown}": it takes any-order or no-run`);
  const lines = linesOf(block);
  const code = /^\[exit (\d+)\]$/.exec(lines.at(-1) ?? "")?.[1];
  return { lines: code === undefined ? lines : lines.slice(0, -1), code: Number(code ?? 0), isAnyOrder: words.length > 0 };
};

/** What is different, in a sentence; null when it is as expected. */
export const difference = (expected: Expected, { output, code }: Printed): string | null => {
  const got = linesOf(output);
  const missing = expected.isAnyOrder ? inAnyOrder(expected.lines, got) : inOrder(expected.lines, got);
  if (missing !== null) return missing;
  return code === expected.code ? null : `It ended with ${code ?? "a signal"}, not with ${expected.code}.`;
};

/** Without spaces at the ends of lines, and without empty lines at the end. */
const linesOf = (text: string): readonly string[] => {
  const lines = text.split(/\r?\n/).map((line) => line.trimEnd());
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
};

const inAnyOrder = (expected: readonly string[], got: readonly string[]): string | null => {
  const left = [...got];
  const mayBeMore = expected.includes(ANY);
  for (const line of expected) {
    if (line === ANY) continue;
    const at = left.findIndex((other) => fits(line, other));
    if (at === -1) return `It did not print: ${line}`;
    left.splice(at, 1);
  }
  return mayBeMore || left[0] === undefined ? null : `It printed more: ${left[0]}`;
};

const inOrder = (expected: readonly string[], got: readonly string[]): string | null => {
  const far = farthest(expected, got, 0, 0);
  if (far === null) return null;
  const [wanted, printed] = [expected[far.expected], got[far.got]];
  if (wanted === undefined) return `It printed more: ${printed ?? ""}`;
  const where = `Line ${far.got + 1} should be: ${wanted === ANY ? (expected[far.expected + 1] ?? "") : wanted}`;
  return printed === undefined ? `${where}\nIt ended before.` : `${where}\nIt was:            ${printed}`;
};

interface Place {
  readonly expected: number;
  readonly got: number;
}

/** How far they agree from a place in both; null when to the end. */
const farthest = (expected: readonly string[], got: readonly string[], at: number, from: number): Place | null => {
  for (let next = from, index = at; ; next++, index++) {
    const wanted = expected[index];
    if (wanted === ANY) return afterAnything(expected, got, index, next);
    const printed = got[next];
    if (wanted === undefined && printed === undefined) return null;
    if (wanted === undefined || printed === undefined || !fits(wanted, printed)) return { expected: index, got: next };
  }
};

const afterAnything = (expected: readonly string[], got: readonly string[], at: number, from: number): Place | null => {
  let best: Place = { expected: at, got: from };
  for (let next = from; next <= got.length; next++) {
    const place = farthest(expected, got, at + 1, next);
    if (place === null) return null;
    if (place.expected > best.expected) best = place;
  }
  return best;
};

const fits = (expected: string, line: string): boolean => {
  if (!expected.includes(ANY)) return expected === line;
  const parts = expected.split(ANY).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(line);
};
