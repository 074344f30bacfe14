/** Connections: those of a pool of ours or of the user's, each borrowed for one statement or one transaction. */
import { RheoError } from "@rheo/core";
import { withoutPasswords } from "@rheo/core/internal";
import pg from "pg";
import { noConnection, unavailable } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";

/** What is used of a connection of pg. */
export interface ClientLike {
  /** Runs one statement. */
  query(query: object): Promise<{ readonly rows: readonly unknown[] }>;
  /** Tells of a connection that breaks. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Gives it back; with an error, to be closed. */
  release(error?: Error | boolean): void;
}

/** What is used of a pool of pg. */
export interface PoolLike {
  /** Lends a connection. */
  connect(): Promise<ClientLike>;
  /** Tells of idle connections that break. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Tells of each new connection. */
  on(event: "connect", listener: (client: ClientLike) => void): unknown;
  /** Ends what `on` began. */
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** Ends what `on` began. */
  removeListener(event: "connect", listener: (client: ClientLike) => void): unknown;
}

/** Whoever lends connections. */
export interface Lender {
  /** A connection; the caller releases it. @throws unavailable */
  borrow(): Promise<ClientLike>;
}

/** Connections beyond these few seconds idle are closed. */
const IDLE_MS = 30_000;

/** Errors of connections are told by the statements that they break; one that breaks while idle has left the pool. */
const ignore = (): void => undefined;

/** The driver would find out with the first connection. @throws invalid_option */
const checkUrl = (connectionString: string): void => {
  try {
    void new pg.Client({ connectionString }); // connects to nothing yet
  } catch (cause) {
    throw new RheoError(
      "invalid_option",
      `The URL ${withoutPasswords(connectionString).slice(0, 100)} is none that PostgreSQL's driver can read.`,
      { path: "url" },
      { cause },
    );
  }
};

/** Connections that have our listener: one, whatever backends share a pool of the user's. */
const heard = new WeakSet<object>();

/** Without a listener an error of a borrowed connection would end the process. */
const listen = (client: ClientLike): void => {
  if (heard.has(client)) return;
  heard.add(client);
  client.on("error", ignore);
};

export class Connections implements Lender {
  readonly #options: ResolvedOptions;
  readonly #pool: PoolLike;
  readonly #end: () => Promise<void>;
  constructor(options: ResolvedOptions) {
    this.#options = options;
    const { source, connectTimeoutMs } = options;
    if (source.kind === "pool") {
      const { pool } = source;
      this.#pool = pool;
      this.#end = async () => {
        pool.removeListener("error", ignore);
        pool.removeListener("connect", listen);
      };
    } else {
      checkUrl(source.url);
      const own = new pg.Pool({
        connectionString: source.url,
        max: source.maxConnections,
        connectionTimeoutMillis: connectTimeoutMs,
        idleTimeoutMillis: IDLE_MS,
        keepAlive: true,
        pipeline: true,
      });
      this.#pool = own;
      this.#end = () => own.end();
    }
    this.#pool.on("error", ignore);
    // a server may end a connection with the very packet that opens it: before anybody who asked for it can listen
    this.#pool.on("connect", listen);
  }

  /** A connection; the caller releases it. @throws unavailable - within the limit, when there is none */
  async borrow(): Promise<ClientLike> {
    const { connectTimeoutMs } = this.#options;
    let late = false;
    const connecting = this.#pool.connect().then((client) => {
      listen(client);
      if (late) client.release();
      return client;
    });
    const timer = deadline(connectTimeoutMs, () => noConnection(connectTimeoutMs));
    try {
      return await Promise.race([connecting, timer.expired]);
    } catch (error) {
      late = true;
      connecting.catch(ignore);
      throw unavailable(error);
    } finally {
      timer.cancel();
    }
  }

  /** For a connection outside the pool: how it is made. Null when the user's pool does not say. */
  separate(): pg.Client | null {
    const { source, connectTimeoutMs } = this.#options;
    const common = { keepAlive: true, connectionTimeoutMillis: connectTimeoutMs };
    if (source.kind === "url") return new pg.Client({ ...common, connectionString: source.url });
    const options: unknown = Reflect.get(source.pool, "options");
    if (typeof options !== "object" || options === null) return null;
    // a pool hides its password from those who copy its options
    const password: unknown = Reflect.get(options, "password");
    return new pg.Client({
      ...options,
      ...common,
      ...(typeof password === "string" || typeof password === "function" ? { password: password as string } : {}),
    });
  }

  /** Ends a pool of ours; one of the user's is left alone. */
  end(): Promise<void> {
    return this.#end();
  }
}

/** Rejects after a time, unless cancelled. */
const deadline = (timeoutMs: number, error: () => Error): { readonly expired: Promise<never>; cancel(): void } => {
  let handle: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    handle = setTimeout(() => reject(error()), timeoutMs);
  });
  return { expired, cancel: () => clearTimeout(handle) };
};
