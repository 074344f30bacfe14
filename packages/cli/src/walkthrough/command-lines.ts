import { parse } from "shell-quote";
import { PageError } from "./page-error.ts";

/** A line of a block of commands. */
export type CommandLine =
  | { readonly kind: "run"; readonly program: "node" | "rheo"; readonly args: readonly string[]; readonly text: string }
  | { readonly kind: "export"; readonly name: string; readonly value: string }
  /** `export NAME=$OTHER`: the value that the other variable has then. */
  | { readonly kind: "export"; readonly name: string; readonly from: string };

/** @throws PageError - it is more than these few commands */
export const commandLines = (code: string): readonly CommandLine[] =>
  code
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(commandLine);

const commandLine = (text: string): CommandLine => {
  const [, copy, from] = /^export ([A-Za-z_]\w*)="?\$([A-Za-z_]\w*)"?$/.exec(text) ?? [];
  if (copy !== undefined && from !== undefined) return { kind: "export", name: copy, from };
  const words = wordsOf(text);
  const [program, ...args] = words[0] === "npx" ? words.slice(1) : words;
  if (program === "node" || program === "rheo") return { kind: "run", program, args, text };
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(args[0] ?? "") ?? [];
  if (program === "export" && name !== undefined && value !== undefined && args.length === 1)
    return { kind: "export", name, value };
  throw new PageError(`has the command "${text}": one that runs is node, rheo or export NAME=value; else write \`\`\`sh no-run`);
};

/** As a shell takes them apart. @throws PageError - it would do more, such as a pipe */
const wordsOf = (text: string): readonly string[] =>
  parse(text, (name) => ({ variable: name })).flatMap((word) => {
    if (typeof word === "string") return [word];
    if ("comment" in word) return [];
    throw new PageError(`has the command "${text}": pipes, patterns and variables need a shell; write \`\`\`sh no-run`);
  });
