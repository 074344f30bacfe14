export { PostgresBackend } from "./backend.ts";
export { MIGRATIONS } from "./migrations/index.ts";
export { SCHEMA_VERSION } from "./schema.ts";
