import type { Printer } from "../output/printer.ts";
import type { Teller } from "./teller.ts";

/** A line for each block that ran. */
export const jsonTeller = (print: Printer): Teller => ({
  began: () => undefined,
  shows: () => undefined,
  ran: ({ line, kind }, { output, code, difference }) => print.value({ line, kind, output, exitCode: code, difference }),
  ended: () => undefined,
});
