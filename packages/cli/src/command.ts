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

/** What the arguments are, for the help of every command that has one of that name. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  stream: "name of a stream",
  group: "name of a group of the stream",
  id: "id of an event",
  payload: "as JSON, such as '{\"total\":120}'",
  path: "such as payload.currency, type or correlationId",
};

/** `usage` as in "lag <stream> <group>". */
export const addCommand = (program: Command, usage: string, summary: string): Command => {
  const command = program
    .command(usage)
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`);
  for (const argument of command.registeredArguments) argument.description = ARGUMENTS[argument.name()] ?? "";
  return command;
};
