import { RheoError } from "@rheo/core";
import { parseChoice, parseNumber, parseOptions } from "@rheo/core/internal";
import type { BetterSqlite3Constructor, BetterSqlite3Handle } from "./driver/better-sqlite3.ts";
import type { Connection } from "./driver/driver.ts";
import { type DriverOption, wrapHandle } from "./driver/load.ts";
import type { NodeSqliteHandle } from "./driver/node-sqlite.ts";

/** An open handle of better-sqlite3, libsql or `node:sqlite`. */
export type DatabaseHandle = BetterSqlite3Handle | NodeSqliteHandle;

interface CommonOptions {
  /**
   * "full" (default): what was acknowledged survives a power cut. "normal": it survives a crash of the process, but a power cut
   * may take the last commits; several times faster on slow disks. With `database`, default: as the handle is set.
   */
  readonly synchronous?: "full" | "normal";
  /** How long a call waits for the lock of another process before it fails as `unavailable`, in ms, 0–3,600,000; default 5,000. */
  readonly busyTimeoutMs?: number;
}

/** Rheo opens the file, and closes it. */
export interface SqliteFileOptions extends CommonOptions {
  /** Path of the database; made if absent, in a directory that exists. ":memory:" lives as long as the backend is open. */
  readonly file: string;
  /**
   * Default: `node:sqlite` where Node has it, else libsql. Or the constructor of better-sqlite3 or a library like it: if your
   * own code uses the same file in the same process, pass what it uses, because two copies of SQLite in one process do not see
   * each other's locks.
   */
  readonly driver?: "node:sqlite" | "libsql" | BetterSqlite3Constructor;
}

/** Rheo works on a handle of yours, beside your own tables, and never closes it. */
export interface SqliteDatabaseOptions extends CommonOptions {
  readonly database: DatabaseHandle;
}

/** A file to open, or a database that is open already. */
export type SqliteOptions = SqliteFileOptions | SqliteDatabaseOptions;

export interface ResolvedOptions {
  readonly source:
    | { readonly kind: "file"; readonly path: string; readonly driver: DriverOption | null }
    | { readonly kind: "handle"; readonly handle: object; readonly connection: Connection };
  readonly synchronous: "full" | "normal" | null;
  readonly busyTimeoutMs: number;
}

const NAMES = ["file", "database", "driver", "synchronous", "busyTimeoutMs"] as const;
const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
const MAX_BUSY_TIMEOUT_MS = 3_600_000;

/** @throws invalid_option */
export const resolveOptions = (options: unknown): ResolvedOptions => {
  const raw = parseOptions("sqlite", options, NAMES);
  const source = parseSource(raw);
  return {
    source,
    synchronous: raw.synchronous === undefined && source.kind === "handle" ? null : parseSynchronous(raw.synchronous),
    busyTimeoutMs: parseNumber("busyTimeoutMs", raw.busyTimeoutMs, {
      min: 0,
      max: MAX_BUSY_TIMEOUT_MS,
      fallback: DEFAULT_BUSY_TIMEOUT_MS,
    }),
  };
};

const parseSynchronous = (value: unknown): "full" | "normal" => parseChoice("synchronous", value, ["full", "normal"], "full");

const parseSource = (raw: Partial<Record<(typeof NAMES)[number], unknown>>): ResolvedOptions["source"] => {
  if ((raw.file === undefined) === (raw.database === undefined))
    throw invalid("file", 'sqlite takes either "file" (a path) or "database" (an open handle).');
  if (raw.database !== undefined) {
    if (raw.driver !== undefined)
      throw invalid("driver", '"driver" goes with "file"; a handle given as "database" has its driver already.');
    return parseHandle(raw.database);
  }
  if (typeof raw.file !== "string" || raw.file === "" || raw.file.includes("\0"))
    throw invalid("file", "file is the path of a database.");
  return { kind: "file", path: raw.file, driver: parseDriver(raw.driver) };
};

const parseHandle = (handle: unknown): Extract<ResolvedOptions["source"], { kind: "handle" }> => {
  const connection = wrapHandle(handle);
  if (connection !== null && typeof handle === "object" && handle !== null) return { kind: "handle", handle, connection };
  throw invalid("database", "database is an open handle of better-sqlite3, libsql or node:sqlite (DatabaseSync).");
};

const parseDriver = (driver: unknown): DriverOption | null => {
  if (driver === undefined) return null;
  if (driver === "node:sqlite" || driver === "libsql") return driver;
  if (isConstructor(driver)) return driver;
  throw invalid("driver", 'driver is "node:sqlite", "libsql" or the constructor of better-sqlite3 or a library like it.');
};

/** What it constructs is seen when the file is opened. */
const isConstructor = (value: unknown): value is BetterSqlite3Constructor => typeof value === "function";

const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });

/**
 * `sqlite:./relative.db`, `sqlite:/absolute.db`, `sqlite::memory:`, each with `?synchronous=normal` or `&busyTimeoutMs=…` if
 * wanted. Percent escapes are decoded. `//` in front of an absolute path, as in `sqlite:///data/x.db`, is allowed.
 * @throws invalid_option
 */
export const optionsFromUrl = (url: string): SqliteFileOptions => {
  const [, path = "", query = ""] = /^sqlite:([^?]*)(?:\?(.*))?$/s.exec(url) ?? [];
  if (path === "")
    throw invalid("url", `A SQLite URL is sqlite:PATH, such as sqlite:./events.db; got ${JSON.stringify(url.slice(0, 60))}.`);
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (name !== "synchronous" && name !== "busyTimeoutMs")
      throw invalid(name, `sqlite URL: unknown option "${name}". Known: synchronous, busyTimeoutMs.`);
  }
  const synchronous = parameters.get("synchronous");
  const busyTimeoutMs = parameters.get("busyTimeoutMs");
  return {
    file: decode(path.startsWith("///") ? path.slice(2) : path, url),
    ...(synchronous === null ? {} : { synchronous: parseSynchronous(synchronous) }),
    ...(busyTimeoutMs === null ? {} : { busyTimeoutMs: Number(busyTimeoutMs) }),
  };
};

const decode = (path: string, url: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalid("url", `A SQLite URL has a bad percent escape: ${JSON.stringify(url.slice(0, 60))}.`);
  }
};
