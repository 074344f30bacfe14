import type { Command } from "commander";
import type { Io } from "./io.ts";

/** One command of the command line: a file in `commands/` that exports one. */
export interface CliCommand {
  /**
   * Adds itself to the program. Its action calls `ended` with the exit code, or throws: a `RheoError` is printed by its message,
   * and what is wrong with the command line ends with 2.
   */
  register(program: Command, io: Io, ended: (code: number) => void): void;
}
