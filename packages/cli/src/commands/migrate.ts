import { Rheo, RheoError } from "@rheo/core";
import { addCommand, type CliCommand } from "../command.ts";
import type { Io } from "../io.ts";
import { storeOptions } from "../options/store.ts";
import { Printer } from "../output/printer.ts";
import { whileWorking } from "../output/progress.ts";
import { type ChangeFlags, carryOut, changeOptions } from "../session/changing.ts";
import { storeUrl } from "../session/session.ts";

/** `rheo migrate`: makes a store, or brings its schema up to date. */
export const migrate: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(program, "migrate", "make a store, or bring its schema up to date");
    changeOptions(command, false);
    storeOptions(command).action(async (flags: ChangeFlags) => ended(await run(io, flags)));
  },
};

const run = async (io: Io, flags: ChangeFlags): Promise<number> => {
  const url = storeUrl(io, flags);
  const why = await whyOutdated(url);
  const data = { migrated: why !== null };
  return carryOut({ io, print: new Printer(io, flags.json) }, flags, {
    order: why === null ? "Do nothing: the schema is up to date" : `Bring the schema up to date: ${why.replace(/\.$/, "")}`,
    expected: data,
    apply: async () => {
      if (why !== null) await whileWorking(io, "Migrating", openOnce(url, true));
      return { data, told: why === null ? "The schema is up to date." : "The schema has been brought up to date." };
    },
  });
};

/** Null: it is up to date. */
const whyOutdated = async (url: string): Promise<string | null> => {
  try {
    await openOnce(url, false);
    return null;
  } catch (error) {
    if (RheoError.is(error, "schema_outdated")) return error.message;
    throw error;
  }
};

const openOnce = async (url: string, migrate: boolean): Promise<void> => {
  const rheo = await Rheo.open(url, { name: "cli", migrate });
  await rheo.close();
};
