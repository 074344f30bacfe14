import { RheoError } from "@rheo/core";
import { colorsFor, type Input, type Io } from "../io.ts";
import { inert } from "../output/inert.ts";

/**
 * Asks before what cannot be undone; false when the answer is not yes.
 * @throws confirm_required - nobody is there to be asked
 */
export const confirm = async (io: Io, what: string): Promise<boolean> => {
  const { stdin, stderr } = io;
  if (stdin?.isTTY !== true || stderr.isTTY !== true) {
    throw new RheoError(
      "confirm_required",
      `${what}? This cannot be undone. Add --yes if you mean it, or --dry-run to see what it would do.`,
    );
  }
  stderr.write(`${inert(what)}? ${colorsFor(stderr, io.env).bold("This cannot be undone.")} [y/N] `);
  return /^\s*y(es)?\s*$/i.test(await firstLine(stdin));
};

/** Empty when the input ends before. */
const firstLine = async (stdin: Input): Promise<string> => {
  let text = "";
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
};
