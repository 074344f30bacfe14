import { type Diagnosis, Rheo, RheoError, type RheoErrorCode } from "@rheo/core";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { storeOptions } from "../options/store.ts";
import { inert } from "../output/inert.ts";
import { Printer } from "../output/printer.ts";
import type { Screen } from "../output/screen.ts";
import { type Column, table } from "../output/table.ts";
import { type StoreFlags, storeUrl } from "../session/session.ts";

const EPILOGUE = "\nExit codes: 0 nothing fails, 1 something does, 2 wrong usage. Warnings are no failure.";

/** `rheo doctor`: what may be wrong around a store, each with what to do about it. */
export const doctor: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(program, "doctor", "what may be wrong around a store, each with what to do about it");
    storeOptions(command.addHelpText("after", EPILOGUE)).action(async (flags: StoreFlags) => ended(await run(io, flags)));
  },
};

const run = async (io: Io, flags: StoreFlags): Promise<number> => {
  const found = await examine(storeUrl(io, flags));
  const print = new Printer(io, flags.json);
  if (print.isJson) for (const one of found) print.value(one);
  else print.text(textOf(print.screen, found));
  return found.some(({ status }) => status === "fail") ? EXIT.failed : EXIT.ok;
};

/** A store that cannot be opened is a finding too. */
const examine = async (url: string): Promise<readonly Diagnosis[]> => {
  try {
    const rheo = await Rheo.open(url, { name: "cli", migrate: false });
    try {
      return await rheo.diagnose();
    } finally {
      await rheo.close();
    }
  } catch (error) {
    const cure = RheoError.is(error) ? CURES[error.code] : undefined;
    if (cure === undefined || !RheoError.is(error)) throw error;
    return [{ check: cure.check, status: "fail", message: error.message, fix: cure.fix }];
  }
};

const CURES: Readonly<Partial<Record<RheoErrorCode, { readonly check: string; readonly fix: string }>>> = {
  unavailable: { check: "connection", fix: "See that the store is there, runs, lets this user in and can be reached from here." },
  schema_outdated: { check: "schema", fix: "Run: rheo migrate, or update Rheo if the store is newer." },
  unsupported: { check: "package", fix: "Install what the message names, beside rheo." },
};

const paintStatus = (text: string, { status }: Diagnosis, { colors }: Screen): string =>
  ({ ok: colors.green, warn: colors.yellow, fail: colors.red })[status](text);

const columns: readonly Column<Diagnosis>[] = [
  { head: "", value: ({ status }) => status, paint: paintStatus },
  { head: "CHECK", value: ({ check }) => check },
  { head: "FOUND", value: ({ message }) => message, yields: "first" },
];

/** A line for each, and then what to do, whole: a fix that is cut is none. */
const textOf = (screen: Screen, found: readonly Diagnosis[]): string => {
  const ill = found.filter(({ fix }) => fix !== null);
  const cures = ill.map(
    (one) => `${paintStatus(one.status, one, screen)} ${inert(`${one.check}: ${one.message}`)}\n  ${inert(one.fix ?? "")}`,
  );
  return [table(screen, columns, found), ...cures].join("\n\n");
};
