export { PostgresBackend } from "./backend.ts";
export { Database } from "./database.ts";
export { diagnose } from "./diagnose.ts";
export { MIGRATIONS } from "./migrations/index.ts";
export { resolveOptions } from "./options.ts";
export { SCHEMA_VERSION } from "./schema.ts";
