import type { CommandWords } from "./words.ts";

export const fish = (commands: readonly CommandWords[]): string =>
  [
    "# rheo for fish: rheo completion fish > ~/.config/fish/completions/rheo.fish",
    ...commands.map(({ name, summary }) => `complete -c rheo -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`),
    ...commands.flatMap(({ name, options }) =>
      options.map(
        ({ name: option, description, takesValue }) =>
          `complete -c rheo -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)} ${takesValue ? "-r " : ""}-d ${quoted(description)}`,
      ),
    ),
    "",
  ].join("\n");

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
