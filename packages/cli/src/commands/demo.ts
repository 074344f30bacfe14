import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { loadDemo } from "../optional/demo.ts";

/** `rheo demo`: kill before ack, with real processes. Its options are those of the package, `--help` too. */
export const demo: CliCommand = {
  register: (program, _io, ended) => {
    program
      .command("demo")
      .summary("kill a consumer before its ack, and see what follows (needs @rheo/demo)")
      .argument("[options...]", "see rheo demo --help")
      .allowUnknownOption()
      .helpOption(false)
      .action(async (_options: string[], _flags: object, command: Command) => ended(await (await loadDemo()).main(command.args)));
  },
};
