/**
 * What a fenced block of a page is, by the first line of its fence and of its code:
 *
 * | block | is |
 * |---|---|
 * | its first line is `// file: NAME` (or `#`, `--`) | a file, written before anything runs; one more of the same name replaces it there |
 * | `sh` | commands, one a line: `node …`, `rheo …`, `export NAME=value` |
 * | `js` on a page with the comment `<!-- notebook -->` | code that goes on from the block before |
 * | `text` | what the last command or code before it printed |
 * | anything with `no-run`, and other languages | only shown |
 */
import { type CommandLine, commandLines } from "./command-lines.ts";
import { type Expected, expectedOf } from "./expected.ts";
import { PageError } from "./page-error.ts";

interface At {
  /** Of its first line in the page, from 1. */
  readonly line: number;
}

export interface Prose extends At {
  readonly kind: "prose";
  /** Markdown. */
  readonly text: string;
}

export interface FileBlock extends At {
  readonly kind: "file";
  /** A path below the folder of the page. */
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

interface ShownBlock extends At {
  readonly kind: "shown";
  readonly language: string;
  readonly code: string;
}

export interface CommandBlock extends At {
  readonly kind: "commands";
  readonly code: string;
  readonly commands: readonly CommandLine[];
  /** Null: they succeed, and what they print is not compared. */
  readonly expected: Expected | null;
}

export interface CodeBlock extends At {
  readonly kind: "code";
  readonly language: string;
  readonly code: string;
  /** Null: it prints nothing. */
  readonly expected: Expected | null;
}

export type Step = Prose | FileBlock | ShownBlock | CommandBlock | CodeBlock;

/** What comments say of the page as a whole. */
export interface Notes {
  readonly servers: readonly string[];
  readonly packages: readonly string[];
  readonly isNotebook: boolean;
}

/** `<!-- needs: postgres redis -->`, `<!-- packages: @rheo/sqlite -->`, `<!-- notebook -->`; null for other comments. */
export const noteOf = (html: string): { readonly name: string; readonly words: readonly string[] } | null => {
  const [, name, words = ""] = /^<!--\s*(needs|packages|notebook)\b:?([^>]*)-->\s*$/.exec(html) ?? [];
  return name === undefined ? null : { name, words: words.split(/[\s,]+/).filter((word) => word !== "") };
};

const SCRIPTS: ReadonlySet<string> = new Set(["js", "mjs", "cjs", "jsx", "javascript", "ts", "mts", "cts", "tsx", "typescript"]);
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "shell", "console"]);
const FILE = /^(?:\/\/|#|--)\s*file:\s*(\S+)\s*(?:\n|$)/;

/** @param info - all that stands on the fence's line, such as "js no-run" */
export const blockOf = (
  info: string,
  code: string,
  line: number,
  { isNotebook }: Notes,
): Exclude<Step, Prose> | { readonly kind: "expected"; readonly expected: Expected } => {
  const [language = "", ...words] = info.split(/\s+/);
  if (words.includes("no-run")) return { kind: "shown", language, code, line };
  const name = FILE.exec(code)?.[1];
  if (name !== undefined) return { kind: "file", name: insideFolder(name), language, code: `${code}\n`, line };
  if (language === "text") return { kind: "expected", expected: expectedOf(code, words) };
  if (SHELLS.has(language)) return { kind: "commands", code, commands: commandLines(code), expected: null, line };
  if (!SCRIPTS.has(language)) return { kind: "shown", language, code, line };
  if (isNotebook) return { kind: "code", language, code, expected: null, line };
  throw new PageError(`has code that nobody runs: begin it with "// file: NAME", or write \`\`\`${language} no-run`);
};

const insideFolder = (name: string): string => {
  if (/^([/\\]|[a-z]:)/i.test(name) || name.split(/[/\\]/).includes(".."))
    throw new PageError(`names the file ${name}: give a path below the folder of the page`);
  return name;
};

/** Says of the last step that ran what it prints. @throws PageError - there is none, or it has been said */
export const withExpected = (steps: Step[], expected: Expected): void => {
  const index = steps.findLastIndex(({ kind }) => kind !== "prose");
  const step = steps[index];
  if ((step?.kind !== "commands" && step?.kind !== "code") || step.expected !== null)
    throw new PageError("says what is printed, and no command stands before it: write ```text no-run if it is only shown");
  steps[index] = { ...step, expected };
};
