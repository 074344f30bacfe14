import { type Command, Option } from "commander";

/** `--store`, as every command has it. RHEO_STORE is used where neither it nor a config says which store. */
export const storeOption = (instead = "RHEO_STORE"): Option =>
  new Option("--store <url>", `the store, such as sqlite:./events.db (default: ${instead})`);

/** `--store` and `--json`. */
export const storeOptions = (command: Command): Command =>
  command.addOption(storeOption()).option("--json", "JSON, a value on each line", false);
