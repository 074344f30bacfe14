import type { CliCommand } from "./command.ts";
import { start } from "./commands/start.ts";

/** In the order of `rheo --help`. */
export const commands: readonly CliCommand[] = [start];
