import { Option } from "commander";

/** `--store`, as every command has it. RHEO_STORE is used where neither it nor a config says which store. */
export const storeOption = (): Option =>
  new Option("--store <url>", "the store, such as sqlite:./events.db (default: the config's, or RHEO_STORE)");
