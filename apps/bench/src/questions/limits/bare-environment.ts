import { open, type RootDatabase } from "lmdb";

/** An environment of payloads by number beside that of a store, as bare as it can be. The caller closes it. */
export const openBareEnvironment = (path: string, durability: "sync" | "relaxed"): RootDatabase<string, number> =>
  open<string, number>({
    path: `${path}-bare`,
    encoding: "string",
    noSync: durability === "relaxed",
    cache: false,
  });
