import { RheoError } from "@rheo/core";
import { Command, CommanderError } from "commander";
import { commands } from "./commands.ts";
import { EXIT } from "./exit-code.ts";
import type { Io } from "./io.ts";

/**
 * Runs the command line and gives the exit code: 0 ok, 1 failed, 2 wrong usage; a command may have more, which its help lists.
 * @param args - without `node` and the script
 */
export const main = async (args: readonly string[], io: Io = process): Promise<number> => {
  let code: number = EXIT.ok;
  const program = createProgram(io, (ended) => {
    code = ended;
  });
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true });
      return EXIT.usage;
    }
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    return explain(error, io);
  }
};

const createProgram = (io: Io, ended: (code: number) => void): Command => {
  const program = new Command("rheo")
    .description("Durable consumer groups, from the command line.")
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "rheo: ")),
    });
  for (const command of commands) command.register(program, io, ended);
  return program;
};

/** What the caller can do something about is told by its message; anything else is a fault of ours, and shows where. */
const explain = (error: unknown, io: Io): number => {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage; // it has printed itself
  if (RheoError.is(error)) {
    io.stderr.write(`rheo: ${error.message}\n`);
    return isUsage(error) ? EXIT.usage : EXIT.failed;
  }
  io.stderr.write(`rheo: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.failed;
};

const isUsage = ({ code }: RheoError): boolean =>
  code === "invalid_option" || code === "invalid_name" || code === "invalid_query" || code === "unsupported";
