/** A page of Markdown whose blocks run, taken apart. What its blocks mean is in `block.ts`. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { lexer, type Token, type Tokens } from "marked";
import { blockOf, type Notes, noteOf, type Step, withExpected } from "./block.ts";
import { PageError } from "./page-error.ts";

/** A page, in the order in which it is read and run. */
export interface Page {
  /** What messages call it. */
  readonly name: string;
  /** Its first heading. */
  readonly title: string;
  /** Servers that must be there: `postgres` sets `POSTGRES_URL`, and so on. */
  readonly servers: readonly string[];
  /** Packages that its code imports, where the page says so. */
  readonly packages: readonly string[];
  /** Its blocks of JavaScript build on one another in one module, which runs in one process. */
  readonly isNotebook: boolean;
  readonly steps: readonly Step[];
}

/** @throws PageError - a block of it could not run */
export const readPage = async (path: string, name: string = basename(path)): Promise<Page> =>
  parsePage(await readFile(path, "utf8"), name);

/** @throws PageError */
export const parsePage = (text: string, name: string): Page => {
  const tokens = lexer(text);
  const notes = notesOf(tokens);
  return { name, title: titleOf(tokens) ?? name, ...notes, steps: stepsOf(tokens, name, notes) };
};

const notesOf = (tokens: readonly Token[]): Notes => {
  const notes = tokens.map((token) => (token.type === "html" ? noteOf(token.raw) : null)).filter((note) => note !== null);
  const words = (name: string): readonly string[] => notes.filter((note) => note.name === name).flatMap((note) => note.words);
  return { servers: words("needs"), packages: words("packages"), isNotebook: notes.some(({ name }) => name === "notebook") };
};

const titleOf = (tokens: readonly Token[]): string | undefined =>
  tokens.find((token): token is Tokens.Heading => token.type === "heading" && token.depth === 1)?.text;

const stepsOf = (tokens: readonly Token[], name: string, notes: Notes): readonly Step[] => {
  const steps: Step[] = [];
  let line = 1;
  for (const token of tokens) {
    try {
      add(steps, token, line, notes);
    } catch (error) {
      if (error instanceof PageError) throw error.at(name, line);
      throw error;
    }
    line += token.raw.split("\n").length - 1;
  }
  return steps;
};

const add = (steps: Step[], token: Token, line: number, notes: Notes): void => {
  if (token.type === "html" && token.raw.startsWith("<!--")) return;
  if (isFenced(token)) {
    const block = blockOf(token.lang ?? "", token.text, line, notes);
    if (block.kind !== "expected") steps.push(block);
    else withExpected(steps, block.expected);
    return;
  }
  refuseNested(token, notes);
  const last = steps.at(-1);
  if (last?.kind === "prose") steps.splice(-1, 1, { ...last, text: last.text + token.raw });
  else if (token.type !== "space") steps.push({ kind: "prose", text: token.raw, line });
};

const isFenced = (token: Token): token is Tokens.Code => token.type === "code" && token.codeBlockStyle !== "indented";

/** In a list or a quotation a block would be shown and not run, which nobody would notice. */
const refuseNested = (token: Token, notes: Notes): void => {
  const inside: readonly Token[] =
    token.type === "list" ? (token as Tokens.List).items : ((token as Tokens.Generic).tokens ?? []);
  for (const child of inside) {
    if (isFenced(child) && blockOf(child.lang ?? "", child.text, 0, notes).kind !== "shown")
      throw new PageError("has a block that runs inside a list or a quotation: let it stand by itself");
    refuseNested(child, notes);
  }
};
