/** An open database: its connection, its sessions and the handles of the caller's on the same file. */
import type { BackendContext } from "@rheo/core";
import { systemClock } from "@rheo/core/internal";
import { checkpoint, configure, connect, isInMemory, storeName, useWriteAheadLog } from "./connect.ts";
import type { Connection } from "./driver/driver.ts";
import { ForeignHandles } from "./foreign-transaction.ts";
import type { ResolvedOptions } from "./options.ts";
import { Quiet } from "./quiet.ts";
import { checkOwner, checkVersion, META, migrate, readMeta, SCHEMA_VERSION, schemaVersion } from "./schema.ts";
import { Sql } from "./sql.ts";
import { Session, type Unit } from "./transaction.ts";

export class Store {
  readonly session: Session;
  /** Of this connection: another counts from the beginning. */
  readonly quiet: Quiet = new Quiet();
  readonly #sql: Sql;
  readonly #options: ResolvedOptions;
  readonly #handles: ForeignHandles;
  #storeId = 0;

  private constructor(options: ResolvedOptions, sql: Sql, now: () => number) {
    this.#options = options;
    this.#sql = sql;
    const shared = options.source.kind === "handle";
    this.session = new Session(sql, { store: storeName(options.source), busyTimeoutMs: options.busyTimeoutMs, shared, now });
    this.#handles = new ForeignHandles(sql.connection.library);
    if (options.source.kind === "handle") this.#handles.add(options.source.handle, sql);
  }

  /** @throws unavailable, schema_outdated */
  static async open(options: ResolvedOptions, context: BackendContext): Promise<Store> {
    const clock = context.clock ?? systemClock;
    const store = new Store(options, new Sql(connect(options.source, context.migrate)), () => Math.floor(clock.now()));
    try {
      await store.#prepare(context.migrate);
    } catch (error) {
      await store.close();
      throw error;
    }
    return store;
  }

  async migrate(): Promise<void> {
    const { source } = this.#options;
    await this.session.write(({ sql }) => migrate(storeName(source), sql, Math.random, source.kind === "file"));
  }

  /** Idempotent. A handle of the caller's stays open. */
  async close(): Promise<void> {
    if (this.session.isClosed) return;
    this.session.close();
    if (this.#options.source.kind === "file" && this.#storeId !== 0) checkpoint(this.#sql);
    this.#sql.forget();
    if (this.#options.source.kind === "file") await this.#sql.connection.close();
  }

  /** The write-ahead log of the main database; null where there is no file. */
  get logFile(): string | null {
    const path = this.#sql.get("SELECT file FROM pragma_database_list WHERE name = 'main'")?.[0];
    return typeof path === "string" && path !== "" ? `${path}-wal` : null;
  }

  /** A number that changes with each commit of another connection; undefined when it must not be asked for now. */
  dataVersion(): unknown {
    if (this.session.isClosed || this.#sql.connection.inTransaction) return undefined;
    return this.#sql.get("PRAGMA data_version")?.[0];
  }

  /** Runs inside the transaction open on a handle of the caller's. @throws invalid_option */
  async within<Result>(handle: unknown, work: (unit: Unit) => Result): Promise<{ result: Result; connection: Connection }> {
    const sql = this.#handles.of(handle, this.#storeId);
    return { result: await this.session.within(sql, work), connection: sql.connection };
  }

  async #prepare(mayMigrate: boolean): Promise<void> {
    const { source } = this.#options;
    const store = storeName(source);
    // a file of another program must not even be switched to another journal mode
    await this.session.outside((sql) => {
      configure(sql, this.#options);
      if (source.kind === "file") checkOwner(store, sql);
    });
    const version = await this.session.read(({ sql }) => schemaVersion(sql));
    checkVersion(store, version, mayMigrate);
    if (source.kind === "file" && !isInMemory(source)) await this.session.outside(useWriteAheadLog);
    if (version < SCHEMA_VERSION) await this.migrate();
    this.#storeId = await this.session.read(({ sql }) => readMeta(sql, META.storeId));
  }
}
