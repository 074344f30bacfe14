/**
 * Rheo on PostgreSQL: in the database that is there already, in a schema of its own.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: postgres({ url: "postgres://localhost/app" }) });
 * const shared = await Rheo.open({ backend: postgres({ pool }) }); // a pg.Pool of yours
 * ```
 */
import type { Backend } from "@rheo/core";
import { PostgresBackend } from "./backend.ts";
import { optionsFromUrl, type PostgresOptions, resolveOptions } from "./options.ts";

export type { PostgresOptions, PostgresPoolOptions, PostgresUrlOptions } from "./options.ts";
export type { ClientLike, PoolLike } from "./pool.ts";
export { migrationScript } from "./schema.ts";

/**
 * A store in a PostgreSQL database, version 14 or newer. Nothing is connected until `Rheo.open`.
 * @throws invalid_option, invalid_name
 */
export const postgres = (options: PostgresOptions): Backend => new PostgresBackend(resolveOptions(options), Math.random);

/** For `Rheo.open("postgres://…")`; `schema` and `notify` may stand among the parameters. @throws invalid_option, invalid_name */
export const fromUrl = (url: string): Backend => postgres(optionsFromUrl(url));
