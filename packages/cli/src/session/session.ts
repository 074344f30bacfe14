import { Rheo, RheoError } from "@rheo/core";
import type { Io } from "../io.ts";
import { Printer } from "../output/printer.ts";
import { interruptible } from "./interruptible.ts";

/** The options of every command that works on a store. */
export interface StoreFlags {
  readonly store?: string;
  readonly json: boolean;
}

/** What a command that works on a store is given. */
export interface Session {
  readonly rheo: Rheo;
  readonly io: Io;
  readonly print: Printer;
  /** Aborts when nobody reads the output any more, and on Ctrl-C if that is heeded. */
  readonly signal: AbortSignal;
}

/**
 * Opens the store, does the work and closes it. Gives the exit code. With `heedsSignals` Ctrl-C aborts the session's signal, for work that
 * has something to put in order; without it, it ends the process there and then, which no store minds.
 * @throws invalid_option - no store is named
 * @throws schema_outdated - nothing but `rheo migrate` makes or changes a schema
 */
export const withStore = (
  io: Io,
  flags: StoreFlags,
  work: (session: Session) => Promise<number>,
  { heedsSignals = false }: { readonly heedsSignals?: boolean } = {},
): Promise<number> =>
  interruptible(io, heedsSignals, async (signal) => {
    const url = storeUrl(io, flags);
    const rheo = await Rheo.open(url, { name: "cli", migrate: false });
    try {
      return await work({ rheo, io, print: new Printer(io, flags.json), signal });
    } finally {
      await rheo.close();
    }
  });

/** @throws invalid_option */
export const storeUrl = ({ env }: Io, { store }: StoreFlags): string => {
  const url = store ?? env.RHEO_STORE;
  if (url !== undefined && url !== "") return url;
  throw new RheoError("invalid_option", "There is no store: pass --store URL, such as sqlite:./events.db, or set RHEO_STORE.", {
    path: "store",
  });
};
