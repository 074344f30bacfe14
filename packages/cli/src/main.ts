import { Command, CommanderError } from "commander";
import { commands } from "./commands.ts";
import { EXIT } from "./exit-code.ts";
import { fail, usageAsJson } from "./failure.ts";
import type { Io } from "./io.ts";
import { VERSION } from "./version.ts";

const EPILOGUE = `
The store is --store URL with each command, or RHEO_STORE: sqlite:./events.db, lmdb:./folder, postgres://…, redis://…, mongodb://…
rheo COMMAND --help has the options of each. New to Rheo: rheo walkthrough`;

/**
 * Runs the command line and gives the exit code: 0 ok, 1 failed, 2 wrong usage, 130 after Ctrl-C; a command may have more, which its
 * help lists.
 * @param args - without `node` and the script
 */
export const main = async (args: readonly string[], io: Io = process): Promise<number> => {
  const isJson = args.includes("--json");
  let code: number = EXIT.ok;
  const program = createProgram(io, isJson, (ended) => {
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
    // it has printed itself
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return fail(error, io, isJson);
  }
};

const createProgram = (io: Io, isJson: boolean, ended: (code: number) => void): Command => {
  const program = new Command("rheo")
    .description("Durable consumer groups, from the command line.")
    .version(VERSION)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) =>
        write(isJson ? `${usageAsJson(withoutPrefix(text).trim())}\n` : `rheo: ${withoutPrefix(text)}`),
    });
  program.addHelpText("after", EPILOGUE);
  for (const [heading, group] of Object.entries(commands)) {
    program.commandsGroup(heading);
    for (const command of group) command.register(program, io, ended);
  }
  return program;
};

const withoutPrefix = (text: string): string => text.replace(/^error: /, "");
