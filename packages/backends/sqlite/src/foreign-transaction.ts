/** Handles of the caller's, given as `{ transaction }`: our statements run on them, inside the caller's transaction (T8). */
import { RheoError } from "@rheo/core";
import { wrapHandle } from "./driver/load.ts";
import { META, readMeta, schemaVersion } from "./schema.ts";
import { Sql } from "./sql.ts";

/** The statements of each handle, kept as long as the handle is. */
export class ForeignHandles {
  readonly #known = new WeakMap<object, Sql>();
  readonly #library: unknown;

  constructor(library: unknown) {
    this.#library = library;
  }

  /** A handle whose statements are there already. */
  add(handle: object, sql: Sql): void {
    this.#known.set(handle, sql);
  }

  /** @throws invalid_option - not a handle, not of the same library, or not on the store whose id this is */
  of(handle: unknown, storeId: number): Sql {
    if (typeof handle !== "object" || handle === null) throw notHandle();
    const known = this.#known.get(handle);
    if (known !== undefined) return known;
    const connection = wrapHandle(handle);
    if (connection === null) throw notHandle();
    if (connection.library !== this.#library) throw otherLibrary();
    const sql = new Sql(connection);
    if (schemaVersion(sql) === 0 || readMeta(sql, META.storeId) !== storeId) {
      throw invalid("transaction: the handle is open on another database than this Rheo. Open it on the same file.");
    }
    this.#known.set(handle, sql);
    return sql;
  }
}

const notHandle = (): RheoError =>
  invalid("transaction is an open handle of better-sqlite3, libsql or node:sqlite (DatabaseSync) with a transaction open on it.");

/**
 * File locks belong to the process, so two copies of SQLite in one process do not see each other's and damage the file:
 * https://www.sqlite.org/howtocorrupt.html, section 2.2.1.
 */
const otherLibrary = (): RheoError =>
  invalid(
    "transaction: the handle is of another SQLite library than this Rheo's, and two of them must not use one file in one process. " +
      'Open Rheo with the same one: pass its constructor as "driver", or the handle as "database".',
  );

const invalid = (message: string): RheoError => new RheoError("invalid_option", message, { path: "transaction" });
