export { SqliteBackend } from "./backend.ts";
export { filterSql } from "./filter-sql.ts";
export { MIGRATIONS } from "./migrations/index.ts";
export { APPLICATION_ID, SCHEMA_VERSION } from "./schema.ts";
