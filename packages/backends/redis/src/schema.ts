/** In which version the layout of the keys is. */
import { RheoError } from "@rheo/core";
import type { Connection } from "./connection.ts";
import { metaKey } from "./keys.ts";
import { SET_LAYOUT } from "./program.ts";

/** Entries of layout 1 have a field for each part of an event. They stay as they are, and are read as those of 2. */
export const LAYOUT_VERSION = 2;

/** @throws schema_outdated, unavailable */
export const openSchema = async (connection: Connection, prefix: string, mayMigrate: boolean): Promise<void> => {
  const version = await versionOf(connection, prefix);
  if (version > LAYOUT_VERSION)
    throw new RheoError(
      "schema_outdated",
      `The keys under "${prefix}" have layout ${version}, and this @rheo/redis knows layouts up to ${LAYOUT_VERSION}. Update the package, or use the version that made them.`,
    );
  if (version < LAYOUT_VERSION && !mayMigrate)
    throw new RheoError(
      "schema_outdated",
      version === 0
        ? `There is nothing under "${prefix}". Open it once without { migrate: false }.`
        : `The keys under "${prefix}" have layout ${version}, and this @rheo/redis writes layout ${LAYOUT_VERSION}. Open it once without { migrate: false }.`,
    );
  if (version < LAYOUT_VERSION) await migrate(connection, prefix);
};

/** Several processes may do so at once. */
export const migrate = async (connection: Connection, prefix: string): Promise<void> => {
  await connection.run(SET_LAYOUT, [metaKey(prefix)], [LAYOUT_VERSION]);
};

/** 0: nothing of ours is there. */
const versionOf = async (connection: Connection, prefix: string): Promise<number> =>
  Number((await connection.call("hget", metaKey(prefix), "layout")) ?? 0);
