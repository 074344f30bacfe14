/**
 * Rheo on MongoDB, 6.0 or newer, as a replica set: the log is a collection of events, groups are beside it. Beta: see the README.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: mongo({ url: "mongodb://localhost:27017/app?replicaSet=rs0" }) });
 * const shared = await Rheo.open({ backend: mongo({ client, database: "app" }) }); // a MongoClient of yours
 * ```
 */
import type { Backend } from "@rheo/core";
import { MongoBackend } from "./backend.ts";
import { optionsFromUrl } from "./from-url.ts";
import { type MongoOptions, resolveOptions } from "./options.ts";

export type { MongoClientOptions, MongoOptions, MongoUrlOptions } from "./options.ts";

/**
 * A store in MongoDB. Nothing is connected until `Rheo.open`.
 * @throws invalid_option, invalid_name
 */
export const mongo = (options: MongoOptions): Backend => new MongoBackend(resolveOptions(options), Math.random);

/** For `Rheo.open("mongodb://…")` and `mongodb+srv://…`; options may stand among the parameters. @throws invalid_option, invalid_name */
export const fromUrl = (url: string): Backend => new MongoBackend(resolveOptions(optionsFromUrl(url)), Math.random);
