/** Whether an environment is ours and in which version, and how it gets to the newest. */
import { RheoError } from "@rheo/core";
import { TABLE } from "./bytes.ts";
import type { Environment } from "./environment.ts";
import { META, readMeta, writeMeta } from "./tables/meta.ts";

const SCHEMA_VERSION = 1;

/**
 * @throws schema_outdated - it is newer than this code, or there is nothing yet and nothing may be made
 * @throws unavailable - another program's
 */
export const checkVersion = (path: string, environment: Environment, mayMigrate: boolean): void => {
  const version = readMeta(environment, META.version);
  if (version === 0 && !isEmpty(environment))
    throw new RheoError(
      "unavailable",
      `LMDB store ${path} belongs to another program: it holds entries that are not Rheo's. Give Rheo a directory of its own. Nothing was written.`,
    );
  if (version > SCHEMA_VERSION)
    throw new RheoError(
      "schema_outdated",
      `LMDB store ${path} has schema version ${version}, and this @rheo/lmdb knows ${SCHEMA_VERSION}. Update @rheo/lmdb.`,
    );
  if (version < SCHEMA_VERSION && !mayMigrate) throw notMigrated(path);
};

export const notMigrated = (path: string): RheoError =>
  new RheoError(
    "schema_outdated",
    `LMDB store ${path} has no schema yet, and this @rheo/lmdb needs version ${SCHEMA_VERSION}. Open it once without { migrate: false }.`,
  );

/** Brings the schema up to date, in one transaction. */
export const migrate = (environment: Environment): void => {
  if (readMeta(environment, META.version) < SCHEMA_VERSION) writeMeta(environment, META.version, SCHEMA_VERSION);
};

const isEmpty = (environment: Environment): boolean => {
  for (const _key of environment.keys({ start: FIRST, end: LAST, limit: 1 })) return false;
  return true;
};

const FIRST = Buffer.from([0]);
const LAST = Buffer.from([0xff, 0xff, 0xff, 0xff, TABLE.meta]);
