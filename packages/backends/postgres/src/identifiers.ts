/** Names inside SQL. Nothing else from outside is ever put into a statement. */
import { RheoError } from "@rheo/core";
import { parseName } from "@rheo/core/internal";

/** PostgreSQL cuts longer identifiers off. */
const MAX_SCHEMA_BYTES = 63;

/** A schema's name as it may stand in SQL. */
export interface Schema {
  readonly name: string;
  readonly quoted: string;
}

/** @throws invalid_name */
export const parseSchema = (value: unknown): Schema => {
  const name = parseName("schema", value);
  if (name.length > MAX_SCHEMA_BYTES) {
    throw new RheoError(
      "invalid_name",
      `A schema of PostgreSQL has at most ${MAX_SCHEMA_BYTES} characters; ${JSON.stringify(name.slice(0, 60))} has ${name.length}.`,
    );
  }
  if (name.startsWith("pg_"))
    throw new RheoError("invalid_name", `Schemas whose names begin with "pg_" belong to PostgreSQL; got "${name}".`);
  return { name, quoted: `"${name}"` }; // parseName lets no quote through
};

/** A statement of this package, in which `@.` stands for the schema. */
export const inSchema = (sql: string, schema: Schema): string => sql.replaceAll("@.", () => `${schema.quoted}.`);
