import { Argument } from "commander";
import type { CliCommand } from "../command.ts";
import { bash } from "../completion/bash.ts";
import { fish } from "../completion/fish.ts";
import { wordsOf } from "../completion/words.ts";
import { zsh } from "../completion/zsh.ts";
import { EXIT } from "../exit-code.ts";

const SHELLS = { bash, zsh, fish } as const;

/** `rheo completion`: a script that completes commands and options. */
export const completion: CliCommand = {
  register: (program, io, ended) => {
    program
      .command("completion")
      .summary("a script by which a shell completes commands and options")
      .description('A script by which a shell completes commands and options. For bash: eval "$(rheo completion bash)"')
      .addArgument(new Argument("<shell>", "which").choices(Object.keys(SHELLS)))
      .action((shell: keyof typeof SHELLS) => {
        io.stdout.write(SHELLS[shell](wordsOf(program)));
        ended(EXIT.ok);
      });
  },
};
