/** What may be wrong with the server, the schema and what goes on beside us. Reads only, and a role that may only read sees enough. */
import type { Diagnosis } from "@rheo/core";
import { clockDiagnosis, failure, fine, warning } from "@rheo/core/internal";
import { type Database, type Row, reading } from "./database.ts";
import { inSchema, type Schema } from "./identifiers.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { SCHEMA_VERSION } from "./schema.ts";
import { FUNCTIONS } from "./sql/index.ts";

/** A transaction open for longer keeps dead rows from being removed everywhere, in seconds. */
const LONG_TRANSACTION_S = 60;
/** The share of the server's connections in use from which others may soon get none. */
const CROWDED_SHARE = 0.9;
/** Dead rows beyond this slow look-ups down, where they are also more than the living. */
const DEAD_ROWS = 100_000;

/** Each cell is text. */
const SETTINGS =
  reading(`SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('default_transaction_read_only'),
  current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('autovacuum'),
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
  (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
  has_table_privilege('@.events', 'INSERT') AND has_table_privilege('@.cursors', 'INSERT')`);
const CLOCK = reading("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
const RELATIONS =
  reading(`SELECT c.relname, c.relkind::text, coalesce(i.indisvalid, true), obj_description(c.oid, 'pg_class') FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE n.nspname = $1`);
const SOURCES = reading(
  "SELECT p.proname, p.prosrc FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 ORDER BY p.proname, p.oid",
);
const LONG = reading(`SELECT pid, usename, application_name, state, extract(epoch FROM clock_timestamp() - xact_start)::integer
  FROM pg_stat_activity WHERE xact_start < clock_timestamp() - $1 * interval '1 second' AND backend_type = 'client backend'
  AND datname = current_database() ORDER BY xact_start LIMIT 1`);
const PREPARED = reading(`SELECT gid, extract(epoch FROM clock_timestamp() - prepared)::integer FROM pg_prepared_xacts
  WHERE prepared < clock_timestamp() - $1 * interval '1 second' ORDER BY prepared LIMIT 1`);
const DEAD = reading(`SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = $1 AND n_dead_tup > ${DEAD_ROWS}
  AND n_dead_tup > n_live_tup ORDER BY n_dead_tup DESC LIMIT 1`);

/** `longS`: what makes a transaction a long one, in seconds. */
export const diagnose = async (
  database: Database,
  schema: Schema,
  nowMs: () => number,
  longS: number = LONG_TRANSACTION_S,
): Promise<Diagnosis[]> => [
  ...ofSettings((await database.run(SETTINGS))[0] ?? []),
  await clock(database, nowMs),
  ...ofRelations(schema, await database.run(RELATIONS, [schema.name])),
  ofFunctions(schema, await database.run(SOURCES, [schema.name])),
  ofTransactions(await database.run(LONG, [longS]), await database.run(PREPARED, [longS]), longS),
  ofDeadRows(schema, await database.run(DEAD, [schema.name])),
];

const ofSettings = (row: Row): Diagnosis[] => {
  const [version, isStandby, isReadOnly, fsync, fullPages, commit, autovacuum, connections, used, mayWrite] = row;
  return [
    fine("version", `PostgreSQL ${version}`),
    isStandby === "t" || isReadOnly === "on"
      ? failure(
          "writable",
          "the server only reads: it is a standby, or default_transaction_read_only is on",
          "Point the URL at the primary.",
        )
      : fine("writable", "the server writes"),
    fine(
      "role",
      mayWrite === "t" ? "may read and write" : "may only read, which is enough to look, and not to append or consume",
    ),
    durability(fsync === "on" && fullPages === "on", commit ?? ""),
    autovacuum === "on"
      ? fine("autovacuum", "on")
      : failure(
          "autovacuum",
          "off: every look-up gets slower with time",
          "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();",
        ),
    room(Number(used), Number(connections)),
  ];
};

const durability = (isSafe: boolean, commit: string): Diagnosis => {
  if (!isSafe)
    return failure(
      "durability",
      "fsync or full_page_writes is off: a crash may destroy the database",
      "Set both on, and restart the server.",
    );
  if (commit !== "off") return fine("durability", `synchronous_commit is ${commit}`);
  return warning(
    "durability",
    "synchronous_commit is off: a crash may lose the last appends and settles",
    "ALTER ROLE … SET synchronous_commit = on;",
  );
};

const room = (used: number, most: number): Diagnosis => {
  const told = `${used} of ${most} in use`;
  if (used < most * CROWDED_SHARE) return fine("connections", told);
  return warning(
    "connections",
    told,
    "Raise max_connections, lower maxConnections in the URLs of Rheo, or put a pooler between.",
  );
};

const clock = async (database: Database, nowMs: () => number): Promise<Diagnosis> => {
  const beforeMs = nowMs();
  const rows = await database.run(CLOCK);
  return clockDiagnosis(Number(rows[0]?.[0]), beforeMs, nowMs());
};

/** Tables, indexes and views that the migrations make, by their names in these texts. */
const EXPECTED = MIGRATIONS.flatMap((sql) => [
  ...[...sql.matchAll(/^CREATE TABLE @\.(\w+)/gm)].map(([, name]) => ({ kind: "table", name, made: "" })),
  ...[...sql.matchAll(/^CREATE VIEW @\.(\w+)/gm)].map(([, name]) => ({ kind: "view", name, made: "" })),
  ...[...sql.matchAll(/^CREATE (?:UNIQUE )?INDEX (\w+) [^;]*/gm)].map(([made, name]) => ({ kind: "index", name, made })),
  ...[...sql.matchAll(/^ {2}CONSTRAINT (\w+) PRIMARY KEY/gm)].map(([, name]) => ({ kind: "primary key", name, made: "" })),
]);

const ofRelations = (schema: Schema, rows: readonly Row[]): Diagnosis[] => {
  const there = new Map(rows.map(([name, , isValid, path]) => [name, { isValid: isValid === "t", path }]));
  const missing = EXPECTED.find(({ name }) => !there.has(name ?? null));
  const broken = [...there].find(([, { isValid }]) => !isValid);
  return [
    missing === undefined
      ? fine("schema", `version ${SCHEMA_VERSION} in "${schema.name}", nothing is missing`)
      : failure(
          "schema",
          `the ${missing.kind} ${missing.name} is missing in "${schema.name}"`,
          missing.made === "" ? "Restore the schema from a backup." : `${inSchema(missing.made, schema)};`,
        ),
    broken === undefined
      ? fine("indexes", "all are valid")
      : warning(
          "indexes",
          `the index ${broken[0]} was left half built`,
          `DROP INDEX ${schema.quoted}."${broken[0]}"; then make it again, with rheo create-index if it is one of a path.`,
        ),
  ];
};

/** Name and body of each function, as the server keeps them. */
const BODIES = FUNCTIONS.map((sql) => {
  const [, name = ""] = /^\s*CREATE FUNCTION @\.(\w+)/.exec(sql) ?? [];
  const [, body = ""] = /AS \$\$([\s\S]*)\$\$/.exec(sql) ?? [];
  return { name, body };
});

const ofFunctions = (schema: Schema, rows: readonly Row[]): Diagnosis => {
  const there = new Set(rows.map(([name, source]) => `${name} ${source}`));
  const differing = BODIES.find(({ name, body }) => !there.has(`${name} ${inSchema(body, schema)}`));
  if (differing === undefined) return fine("functions", `${BODIES.length}, as this version makes them`);
  return failure(
    "functions",
    `the function ${differing.name} is not as this version makes it`,
    "Use one version of @rheo/postgres everywhere; if it was changed by hand, restore it from a backup.",
  );
};

/** Those of other users show only to members of pg_read_all_stats. */
const ofTransactions = ([long]: readonly Row[], [prepared]: readonly Row[], longS: number): Diagnosis => {
  const harm = "rows that are dead since cannot be removed, and every look-up gets slower";
  if (prepared !== undefined)
    return warning(
      "transactions",
      `the prepared transaction ${prepared[0]} is ${prepared[1]} s old: ${harm}`,
      `COMMIT PREPARED or ROLLBACK PREPARED '${prepared[0]}';`,
    );
  if (long === undefined) return fine("transactions", `none is older than ${longS} s`);
  const [pid, user, application, state, seconds] = long;
  return warning(
    "transactions",
    `one of ${user} (${application || "no application_name"}, pid ${pid}, ${state}) is ${seconds} s old: ${harm}`,
    `End it: SELECT pg_terminate_backend(${pid}); and set idle_in_transaction_session_timeout.`,
  );
};

const ofDeadRows = (schema: Schema, [row]: readonly Row[]): Diagnosis =>
  row === undefined
    ? fine("dead rows", "few")
    : warning(
        "dead rows",
        `${row[1]} in the table ${row[0]}`,
        `VACUUM ${schema.quoted}.${row[0]}; and see what holds autovacuum up: transactions, above.`,
      );
