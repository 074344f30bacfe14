import { RheoError } from "@rheo/core";
import { parseBoolean, parseNumber, parseOptions } from "@rheo/core/internal";
import type { MongoClient } from "mongodb";
import { invalid } from "./errors.ts";

interface CommonOptions {
  /** The database; default that of the url, else "rheo". 1–60 characters of `A–Z a–z 0–9 _ -`. */
  readonly database?: string;
  /** What the names of all collections begin with; default "rheo". 1–60 characters of `A–Z a–z 0–9 _ -`, beginning with a letter. */
  readonly prefix?: string;
  /** Wake-ups by a change stream; default true. Off: other processes are heard of by polling only. */
  readonly notify?: boolean;
  /** How long an operation that others are in the way of is tried again before it fails as `unavailable`, in ms, 1–3,600,000; default 10,000. */
  readonly conflictTimeoutMs?: number;
}

/** Rheo connects, and closes its connections. */
export interface MongoUrlOptions extends CommonOptions {
  /** `mongodb://user:password@host:port/database` or `mongodb+srv://…`, with the parameters that the driver knows. */
  readonly url: string;
  /** How long a call waits for a server before it fails as `unavailable`, in ms, 1–3,600,000; default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long one command may take before its connection is given up, in ms, 1–3,600,000; default 30,000. */
  readonly commandTimeoutMs?: number;
  /** Connections at most, 1–1,000; default 20. */
  readonly maxConnections?: number;
}

/** Rheo uses a client of yours, and never closes it. */
export interface MongoClientOptions extends CommonOptions {
  readonly client: MongoClient;
}

/** By URL, or with a client of your own. */
export type MongoOptions = MongoUrlOptions | MongoClientOptions;

export interface ResolvedOptions {
  readonly source:
    | {
        readonly kind: "url";
        readonly url: string;
        readonly connectTimeoutMs: number;
        readonly commandTimeoutMs: number;
        readonly maxConnections: number;
      }
    | { readonly kind: "client"; readonly client: MongoClient };
  /** Null: that of the url. */
  readonly database: string | null;
  readonly prefix: string;
  readonly notify: boolean;
  readonly conflictTimeoutMs: number;
}

const COMMON = ["database", "prefix", "notify", "conflictTimeoutMs"] as const;
const OF_URL = ["connectTimeoutMs", "commandTimeoutMs", "maxConnections"] as const;
const NAMES = ["url", "client", ...OF_URL, ...COMMON] as const;
type Raw = Partial<Record<(typeof NAMES)[number], unknown>>;

const DEFAULT_PREFIX = "rheo";
const PREFIX = /^[A-Za-z][A-Za-z0-9_-]{0,59}$/;
const DATABASE = /^[A-Za-z0-9_-]{1,60}$/;
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_COMMAND_TIMEOUT_MS = 30_000;
const DEFAULT_CONFLICT_TIMEOUT_MS = 10_000;
const DEFAULT_CONNECTIONS = 20;
const MAX_CONNECTIONS = 1_000;

/** @throws invalid_option, invalid_name */
export const resolveOptions = (options: unknown): ResolvedOptions => {
  const raw = parseOptions("mongo", options, NAMES);
  return {
    source: parseSource(raw),
    database: raw.database === undefined ? null : parseName("database", raw.database, DATABASE),
    prefix: parseName("prefix", raw.prefix ?? DEFAULT_PREFIX, PREFIX),
    notify: parseBoolean("notify", raw.notify, true),
    conflictTimeoutMs: parseTimeout(raw, "conflictTimeoutMs", DEFAULT_CONFLICT_TIMEOUT_MS),
  };
};

const parseTimeout = (raw: Raw, name: keyof Raw, fallback: number): number =>
  parseNumber(name, raw[name], { min: 1, max: MAX_TIMEOUT_MS, fallback });

const parseSource = (raw: Raw): ResolvedOptions["source"] => {
  if ((raw.url === undefined) === (raw.client === undefined))
    throw invalid("url", 'mongo takes either "url" or "client" (a MongoClient of yours).');
  if (raw.client !== undefined) {
    const stray = OF_URL.find((name) => raw[name] !== undefined);
    if (stray !== undefined) throw invalid(stray, `"${stray}" goes with "url"; a client has its own.`);
    if (!isClient(raw.client)) throw invalid("client", "client is a MongoClient of the mongodb driver.");
    return { kind: "client", client: raw.client };
  }
  if (typeof raw.url !== "string" || !/^mongodb(\+srv)?:\/\//.test(raw.url))
    throw invalid("url", "url begins with mongodb:// or mongodb+srv://.");
  return {
    kind: "url",
    url: raw.url,
    connectTimeoutMs: parseTimeout(raw, "connectTimeoutMs", DEFAULT_CONNECT_TIMEOUT_MS),
    commandTimeoutMs: parseTimeout(raw, "commandTimeoutMs", DEFAULT_COMMAND_TIMEOUT_MS),
    maxConnections: parseNumber("maxConnections", raw.maxConnections, {
      min: 1,
      max: MAX_CONNECTIONS,
      fallback: DEFAULT_CONNECTIONS,
    }),
  };
};

/** By looks: an application may bring a driver of its own. */
export const isClient = (value: unknown): value is MongoClient =>
  typeof value === "object" &&
  value !== null &&
  typeof Reflect.get(value, "db") === "function" &&
  typeof Reflect.get(value, "startSession") === "function";

const parseName = (name: "database" | "prefix", value: unknown, shape: RegExp): string => {
  if (typeof value === "string" && shape.test(value)) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : typeof value;
  const start = name === "prefix" ? ", beginning with a letter" : "";
  throw new RheoError("invalid_name", `${name} has 1–60 characters of A–Z a–z 0–9 _ and -${start}; got ${shown}.`, {
    path: name,
  });
};
