import type { Command } from "commander";

/** One command as a shell completes it. */
export interface CommandWords {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly OptionWords[];
}

export interface OptionWords {
  /** As typed, such as "--limit"; the short form is left to memory. */
  readonly name: string;
  readonly description: string;
  /** Something follows it. */
  readonly takesValue: boolean;
}

/** What there is to complete, from the program itself: so that it cannot be forgotten. */
export const wordsOf = (program: Command): readonly CommandWords[] =>
  program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    options: command.options.map(({ long, description, required, optional }) => ({
      name: long ?? "",
      description: description.replace(/[\r\n]/g, " "),
      takesValue: required || optional,
    })),
  }));
