/** Private servers for tests and benches: started on free ports of the loopback, killed, restarted and ended by pid. */
export { findPgbouncer, type Pooler, startPgbouncer } from "./pgbouncer.ts";
export { answers, freePort } from "./ports.ts";
export { type PostgresServer, startPostgres } from "./postgres.ts";
