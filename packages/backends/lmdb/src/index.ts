/**
 * Rheo on LMDB: an embedded store at memory speed that survives a crash, for one process.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: lmdb({ path: "./events" }) });
 * ```
 */
import type { Backend } from "@rheo/core";
import { LmdbBackend } from "./backend.ts";
import { type LmdbOptions, optionsFromUrl, resolveOptions } from "./options.ts";

export type { Durability, LmdbOptions } from "./options.ts";

/**
 * A store in a directory, owned by the one process that has it open. Nothing is opened until `Rheo.open`.
 * @throws invalid_option
 */
export const lmdb = (options: LmdbOptions): Backend => new LmdbBackend(resolveOptions(options));

/** For `Rheo.open("lmdb:./events")`. @throws invalid_option */
export const fromUrl = (url: string): Backend => lmdb(optionsFromUrl(url));
