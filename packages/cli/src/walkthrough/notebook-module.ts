import type { CodeBlock } from "./block.ts";

/** The function that a notebook's module stops at, by its name in the global scope. */
export const STOP: symbol = Symbol.for("rheo.walkthrough.stop");

/**
 * All code of a notebook as one module, which stops before each block and at its end. Every line has the number that it has in the page, so
 * that a stack trace leads there.
 */
export const notebookModule = (blocks: readonly CodeBlock[]): string => {
  const lines: string[] = [];
  for (const [index, { code, line }] of blocks.entries()) {
    while (lines.length < line - 1) lines.push("");
    lines.push(stop(index), ...code.split("\n"));
  }
  return [...lines, stop(blocks.length), ""].join("\n");
};

const stop = (index: number): string => `await globalThis[Symbol.for("${STOP.description}")](${index});`;
