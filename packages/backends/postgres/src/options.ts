import { RheoError } from "@rheo/core";
import { parseBoolean, parseNumber, parseOptions } from "@rheo/core/internal";
import pg from "pg";
import { parseSchema, type Schema } from "./identifiers.ts";
import type { PoolLike } from "./pool.ts";

interface CommonOptions {
  /** Where Rheo's tables are; default "rheo". 1–63 characters of `A–Z a–z 0–9 . _ -`. */
  readonly schema?: string;
  /**
   * Wake-ups over LISTEN/NOTIFY on a connection of their own; default true. Off: other processes are heard of by polling only, and no
   * connection is kept that a pooler in transaction mode could not share.
   */
  readonly notify?: boolean;
  /** How long a call waits for a connection before it fails as `unavailable`, in ms, 1–3,600,000; default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long one statement may take before its connection is given up, in ms, 1–3,600,000; default 60,000. Migrations are not bound by it. */
  readonly statementTimeoutMs?: number;
}

/** Rheo connects, and closes its connections. */
export interface PostgresUrlOptions extends CommonOptions {
  /** `postgres://user:password@host:port/database`, with the parameters that pg knows, such as `sslmode`. */
  readonly url: string;
  /** Connections at most, 1–1,000; default 10. One more listens. */
  readonly maxConnections?: number;
}

/** Rheo borrows connections of a pool of yours, and never ends it. */
export interface PostgresPoolOptions extends CommonOptions {
  readonly pool: PoolLike;
}

/** By URL, or with a pool of your own. */
export type PostgresOptions = PostgresUrlOptions | PostgresPoolOptions;

export interface ResolvedOptions {
  readonly source:
    | { readonly kind: "url"; readonly url: string; readonly maxConnections: number }
    | { readonly kind: "pool"; readonly pool: PoolLike };
  /** Whether its connections take statements before they have answered others. */
  readonly pipelines: boolean;
  readonly schema: Schema;
  readonly notify: boolean;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

const NAMES = ["url", "pool", "schema", "notify", "connectTimeoutMs", "statementTimeoutMs", "maxConnections"] as const;
const DEFAULT_SCHEMA = "rheo";
const DEFAULT_CONNECTIONS = 10;
const MAX_CONNECTIONS = 1_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_STATEMENT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 3_600_000;

/** @throws invalid_option, invalid_name */
export const resolveOptions = (options: unknown): ResolvedOptions => {
  const raw = parseOptions("postgres", options, NAMES);
  const timeout = (name: "connectTimeoutMs" | "statementTimeoutMs", fallback: number): number =>
    parseNumber(name, raw[name], { min: 1, max: MAX_TIMEOUT_MS, fallback });
  const source = parseSource(raw);
  return {
    source,
    pipelines: pipelines(source),
    schema: parseSchema(raw.schema ?? DEFAULT_SCHEMA),
    notify: parseBoolean("notify", raw.notify, true),
    connectTimeoutMs: timeout("connectTimeoutMs", DEFAULT_CONNECT_TIMEOUT_MS),
    statementTimeoutMs: timeout("statementTimeoutMs", DEFAULT_STATEMENT_TIMEOUT_MS),
  };
};

const parseSource = (raw: Partial<Record<(typeof NAMES)[number], unknown>>): ResolvedOptions["source"] => {
  if ((raw.url === undefined) === (raw.pool === undefined))
    throw invalid("url", 'postgres takes either "url" or "pool" (a pg.Pool of yours).');
  if (raw.pool !== undefined) {
    if (raw.maxConnections !== undefined)
      throw invalid("maxConnections", '"maxConnections" goes with "url"; a pool has its own bound.');
    if (!isPool(raw.pool)) throw invalid("pool", "pool is a Pool of pg, or one that works like it.");
    return { kind: "pool", pool: raw.pool };
  }
  if (typeof raw.url !== "string" || !/^postgres(ql)?:\/\//.test(raw.url))
    throw invalid("url", "url begins with postgres:// or postgresql://.");
  const bounds = { min: 1, max: MAX_CONNECTIONS, fallback: DEFAULT_CONNECTIONS };
  return { kind: "url", url: raw.url, maxConnections: parseNumber("maxConnections", raw.maxConnections, bounds) };
};

/** Ours do where the driver can; a pool of yours does if it was made so. */
const pipelines = (source: ResolvedOptions["source"]): boolean => {
  if (source.kind === "url") return new pg.Client({ pipeline: true }).pipeline === true; // versions of the driver that cannot do not have the property
  const options: unknown = Reflect.get(source.pool, "options");
  return typeof options === "object" && options !== null && Reflect.get(options, "pipeline") === true;
};

const isPool = (value: unknown): value is PoolLike =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "connect") === "function" &&
  typeof Reflect.get(value, "on") === "function";

const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", message, { path });

/**
 * A URL as `Rheo.open` takes it: that of pg, with `schema`, `notify` (true or false), `maxConnections`, `connectTimeoutMs` and
 * `statementTimeoutMs` among its parameters if wanted. @throws invalid_option
 */
export const optionsFromUrl = (given: string): PostgresUrlOptions => {
  const [base, query] = splitOnce(given, "?");
  const parameters = new URLSearchParams(query);
  const take = (name: string): string | undefined => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const schema = take("schema");
  const notify = take("notify");
  if (notify !== undefined && notify !== "true" && notify !== "false") throw invalid("notify", "notify is true or false.");
  const numbers = Object.fromEntries(
    (["maxConnections", "connectTimeoutMs", "statementTimeoutMs"] as const).flatMap((name) => {
      const value = take(name);
      return value === undefined ? [] : [[name, Number(value)]];
    }),
  );
  const rest = parameters.toString();
  return {
    url: rest === "" ? base : `${base}?${rest}`,
    ...(schema === undefined ? {} : { schema }),
    ...(notify === undefined ? {} : { notify: notify === "true" }),
    ...numbers,
  };
};

const splitOnce = (text: string, separator: string): [string, string] => {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
};
