/** In which version a database is, and how it gets to the newest. */
import { createHash } from "node:crypto";
import { RheoError } from "@rheo/core";
import type { Database } from "./database.ts";
import { inSchema, parseSchema, type Schema } from "./identifiers.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { FUNCTIONS } from "./sql/index.ts";

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** Rheo stores any text there is, and compares it by code point. */
const ENCODING = "UTF8";

/** The oldest server with multiranges. */
const OLDEST_SERVER = 140_000;

const META = "CREATE TABLE @.meta (name text PRIMARY KEY, value text NOT NULL);";
/** Catalogs are read as tables: functions such as to_regclass() may answer from before the lock was had. */
const LOOK = `SELECT current_setting('server_encoding'), current_setting('server_version_num'), EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
  EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')`;
const VERSION = "SELECT value FROM @.meta WHERE name = 'schema_version'";
const SET_VERSION = `INSERT INTO @.meta (name, value) VALUES ('schema_version', '${SCHEMA_VERSION}') ON CONFLICT (name) DO UPDATE SET value = excluded.value;`;

/** Functions are replaced as a whole: their number and types may have changed. */
const DROP_FUNCTIONS = `DO $drop$
DECLARE f regprocedure;
BEGIN
  FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = to_regnamespace('@schema') LOOP
    EXECUTE 'DROP FUNCTION ' || f;
  END LOOP;
END $drop$;`;

interface Found {
  readonly hasSchema: boolean;
  /** 0: no tables of ours. */
  readonly version: number;
}

/** @throws schema_outdated, unavailable */
export const openSchema = async (database: Database, schema: Schema, mayMigrate: boolean): Promise<void> => {
  const { version } = await look((text, values) => database.run({ text, writes: false }, values), schema);
  check(schema, version, mayMigrate);
  if (version < SCHEMA_VERSION) await migrate(database, schema);
};

/**
 * Brings the schema up to date in one transaction under a lock that ends with it: of several processes one does it and the others find
 * it done; killed half way, it never happened.
 */
export const migrate = (database: Database, schema: Schema): Promise<void> =>
  database.transaction(async (run) => {
    await run("SELECT pg_advisory_xact_lock($1)", [lockOf(schema)]);
    const { hasSchema, version } = await look(run, schema);
    check(schema, version, true);
    if (version < SCHEMA_VERSION) await run(steps(schema, version, hasSchema));
  });

const look = async (
  run: (text: string, values?: readonly string[]) => Promise<readonly (readonly (string | null)[])[]>,
  schema: Schema,
): Promise<Found> => {
  const [row] = await run(LOOK, [schema.name]);
  const [encoding, server, hasSchema, hasMeta] = row ?? [];
  if (encoding !== ENCODING)
    throw new RheoError(
      "unavailable",
      `The database's encoding is ${encoding}; Rheo needs ${ENCODING}. Create it with ENCODING 'UTF8'.`,
    );
  if (Number(server) < OLDEST_SERVER)
    throw new RheoError(
      "unavailable",
      `The server is PostgreSQL ${Math.floor(Number(server) / 10_000)}; Rheo needs 14 or newer.`,
    );
  const [version] = hasMeta === "t" ? await run(VERSION) : [];
  return { hasSchema: hasSchema === "t", version: Number(version?.[0] ?? 0) };
};

/** @throws schema_outdated */
const check = (schema: Schema, version: number, mayMigrate: boolean): void => {
  if (version > SCHEMA_VERSION) {
    throw new RheoError(
      "schema_outdated",
      `Schema "${schema.name}" has version ${version}, and this @rheo/postgres knows versions up to ${SCHEMA_VERSION}. Update the package, or use the version that made the store.`,
    );
  }
  if (version < SCHEMA_VERSION && !mayMigrate) {
    throw new RheoError(
      "schema_outdated",
      `Schema "${schema.name}" has version ${version}, and this @rheo/postgres needs ${SCHEMA_VERSION}. Run the script of migrationScript(), or open it once without { migrate: false }.`,
    );
  }
};

const steps = (schema: Schema, version: number, hasSchema: boolean): string => {
  const sql = [
    ...(hasSchema ? [] : [`CREATE SCHEMA ${schema.quoted};`]),
    ...(version === 0 ? [META] : [DROP_FUNCTIONS.replace("@schema", () => schema.quoted)]),
    ...MIGRATIONS.slice(version),
    ...FUNCTIONS,
    SET_VERSION,
  ];
  return sql.map((step) => inSchema(step, schema)).join("\n");
};

/** Two processes that migrate the same schema take the same lock; of the 64 bits it has 53. */
const lockOf = (schema: Schema): number => createHash("sha256").update(`rheo:${schema.name}`).digest().readUIntBE(0, 6);

/**
 * The SQL that makes the newest schema, for those who run it by hand: from nothing, or `from` a version that is there (a whole number
 * from 0; default 0). Run it as one, in a database whose encoding is UTF8, and open Rheo with `migrate: false`.
 * @throws invalid_name, invalid_option
 */
export const migrationScript = (options: { readonly schema?: string; readonly from?: number } = {}): string => {
  const schema = parseSchema(options.schema ?? "rheo");
  const from = options.from ?? 0;
  if (!Number.isInteger(from) || from < 0 || from > SCHEMA_VERSION) {
    throw new RheoError("invalid_option", `from is a version from 0 to ${SCHEMA_VERSION}; got ${String(from)}.`, {
      path: "from",
    });
  }
  if (from === SCHEMA_VERSION) return "";
  return [
    `-- Rheo: schema "${schema.name}" from version ${from} to ${SCHEMA_VERSION}`,
    "BEGIN;",
    `SELECT pg_advisory_xact_lock(${lockOf(schema)});`,
    steps(schema, from, from > 0),
    "COMMIT;",
    "",
  ].join("\n");
};
