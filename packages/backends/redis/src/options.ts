import type { ConnectionOptions } from "node:tls";
import { RheoError } from "@rheo/core";
import { parseBoolean, parseNumber, parseOptions } from "@rheo/core/internal";
import type { Cluster, Redis } from "ioredis";
import { checkClient } from "./client.ts";
import { type Address, invalid, parseAddress, parseUrl } from "./url.ts";

interface CommonOptions {
  /** What the names of all keys begin with; default "rheo". 1–60 characters of `A–Z a–z 0–9 . _ : -`. */
  readonly prefix?: string;
  /** Wake-ups by PUBLISH, heard on one connection of their own; default true. Off: other processes are heard of by polling only. */
  readonly notify?: boolean;
  /** Open also on a server whose eviction policy can drop Rheo's keys; default false. */
  readonly allowEviction?: boolean;
  /** After each write, wait until so many replicas have it: what is then acknowledged survives a failover to one of them. Default: none. */
  readonly waitReplicas?: WaitReplicas;
  /** How long a call waits for a connection before it fails as `unavailable`, in ms, 1–3,600,000; default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long one command may take before its connection is given up, in ms, 1–3,600,000; default 10,000. */
  readonly commandTimeoutMs?: number;
}

/** How many replicas must have a write before it counts, and how long to wait for them. */
export interface WaitReplicas {
  /** 1–100. */
  readonly replicas: number;
  /** How long they have, in ms, less than `commandTimeoutMs`; default 1,000. After that the write is `outcome_unknown`. */
  readonly timeoutMs?: number;
}

interface AccessOptions {
  readonly username?: string;
  readonly password?: string;
  /** True, or options of `tls.connect` such as `ca`. Default: no TLS. */
  readonly tls?: true | ConnectionOptions;
}

/** One server. Rheo connects, and closes its connections. */
export interface RedisUrlOptions extends CommonOptions {
  /** `redis://user:password@host:port/database`, or `rediss://…` for TLS. */
  readonly url: string;
  /** With a `rediss://` URL: options of `tls.connect`, such as `ca`. */
  readonly tls?: true | ConnectionOptions;
}

/** A Redis Cluster, of which some nodes are named. */
export interface RedisClusterOptions extends CommonOptions, AccessOptions {
  /** `host:port`, or the two apart. */
  readonly nodes: readonly (string | Address)[];
}

/** A master for which Sentinels are asked, again after each failover. */
export interface RedisSentinelOptions extends CommonOptions, AccessOptions {
  /** `host:port`, or the two apart. */
  readonly sentinels: readonly (string | Address)[];
  /** The master's name at the Sentinels. */
  readonly name: string;
  /** 0–1,000,000; default 0. */
  readonly database?: number;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

/** Rheo uses a client of yours, and never ends it. */
export interface RedisClientOptions extends CommonOptions {
  readonly client: Redis | Cluster;
}

/** By URL, as a Cluster, by Sentinels, or with a client of your own. */
export type RedisOptions = RedisUrlOptions | RedisClusterOptions | RedisSentinelOptions | RedisClientOptions;

export interface Access {
  readonly username: string | null;
  readonly password: string | null;
  /** Null: no TLS. */
  readonly tls: ConnectionOptions | null;
}

type Source =
  | ({ readonly kind: "server"; readonly address: Address; readonly database: number } & Access)
  | ({ readonly kind: "cluster"; readonly nodes: readonly Address[] } & Access)
  | ({
      readonly kind: "sentinel";
      readonly sentinels: readonly Address[];
      readonly name: string;
      readonly database: number;
      readonly sentinelUsername: string | null;
      readonly sentinelPassword: string | null;
    } & Access)
  | { readonly kind: "client"; readonly client: Redis | Cluster };

export interface ResolvedOptions {
  readonly source: Source;
  readonly prefix: string;
  readonly notify: boolean;
  readonly allowEviction: boolean;
  readonly waitReplicas: Required<WaitReplicas> | null;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

const COMMON = ["prefix", "notify", "allowEviction", "waitReplicas", "connectTimeoutMs", "commandTimeoutMs"] as const;
const ACCESS = ["username", "password", "tls"] as const;
/** The ways to say where the server is, and what goes with each. */
const WAYS = {
  url: ["tls"],
  nodes: ACCESS,
  sentinels: [...ACCESS, "name", "database", "sentinelUsername", "sentinelPassword"],
  client: [],
} as const;
type Way = keyof typeof WAYS;
const WAY_NAMES = Object.keys(WAYS) as Way[]; // the names just above

const DEFAULT_PREFIX = "rheo";
const PREFIX = /^[A-Za-z0-9._:-]{1,60}$/;
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_WAIT_MS = 1_000;
const MAX_REPLICAS = 100;
const MAX_DATABASE = 1_000_000;
const SERVER_PORT = 6_379;
const SENTINEL_PORT = 26_379;

type Raw = Readonly<Record<string, unknown>>;

/** @throws invalid_option, invalid_name */
export const resolveOptions = (options: unknown): ResolvedOptions => {
  const [way, ...others] = WAY_NAMES.filter((name) => isGiven(options, name));
  if (way === undefined || others.length > 0)
    throw invalid("url", `redis takes one of ${WAY_NAMES.join(", ")}, which says where the server is.`);
  // what is undefined is not given
  const given = Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined));
  const raw: Raw = parseOptions("redis", given, [way, ...WAYS[way], ...COMMON]);
  const timeout = (name: string): number =>
    parseNumber(name, raw[name], { min: 1, max: MAX_TIMEOUT_MS, fallback: DEFAULT_TIMEOUT_MS });
  const commandTimeoutMs = timeout("commandTimeoutMs");
  return {
    source: SOURCES[way](raw),
    prefix: parsePrefix(raw.prefix ?? DEFAULT_PREFIX),
    notify: parseBoolean("notify", raw.notify, true),
    allowEviction: parseBoolean("allowEviction", raw.allowEviction, false),
    waitReplicas: parseWaitReplicas(raw.waitReplicas, commandTimeoutMs),
    connectTimeoutMs: timeout("connectTimeoutMs"),
    commandTimeoutMs,
  };
};

const isGiven = (options: unknown, name: string): boolean =>
  typeof options === "object" && options !== null && Reflect.get(options, name) !== undefined;

const SOURCES: Readonly<Record<Way, (raw: Raw) => Source>> = {
  url: ({ url, tls }) => {
    const { isTls, username, password, hosts, database, query } = parseUrl(url);
    const [parameter] = query.keys();
    if (parameter !== undefined)
      throw invalid("url", `The url has the parameter "${parameter}"; options stand beside it: redis({ url, … }).`);
    if (hosts.length > 1)
      throw invalid(
        "url",
        "The url names several hosts. For a Cluster write redis({ nodes }), for Sentinels redis({ sentinels, name }).",
      );
    if (tls !== undefined && !isTls) throw invalid("tls", 'Options of TLS go with a url that begins with "rediss://".');
    const address = parseAddress("url", hosts[0], SERVER_PORT);
    const access = { username, password, tls: isTls ? parseTls(tls ?? true) : null };
    return { kind: "server", address, database: database ?? 0, ...access };
  },
  nodes: (raw) => ({ kind: "cluster", nodes: parseAddresses("nodes", raw.nodes, SERVER_PORT), ...parseAccess(raw) }),
  sentinels: (raw) => ({
    kind: "sentinel",
    sentinels: parseAddresses("sentinels", raw.sentinels, SENTINEL_PORT),
    name: parseName(raw.name),
    database: parseNumber("database", raw.database, { min: 0, max: MAX_DATABASE, fallback: 0 }),
    sentinelUsername: parseSecret("sentinelUsername", raw.sentinelUsername),
    sentinelPassword: parseSecret("sentinelPassword", raw.sentinelPassword),
    ...parseAccess(raw),
  }),
  client: ({ client }) => ({ kind: "client", client: checkClient(client) }),
};

const parseAccess = (raw: Raw): Access => ({
  username: parseSecret("username", raw.username),
  password: parseSecret("password", raw.password),
  tls: raw.tls === undefined ? null : parseTls(raw.tls),
});

/** What is given is not repeated. */
const parseSecret = (name: string, value: unknown): string | null => {
  if (value === undefined) return null;
  if (typeof value === "string") return value;
  throw invalid(name, `${name} is a string; got ${typeof value}.`);
};

const parseName = (value: unknown): string => {
  if (typeof value === "string" && value !== "") return value;
  throw invalid("name", 'sentinels go with the name of the master, such as name: "mymaster".');
};

const parseTls = (value: unknown): ConnectionOptions => {
  if (value === true) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw invalid("tls", "tls is true, or an object of options of tls.connect.");
};

const parseAddresses = (name: string, value: unknown, defaultPort: number): Address[] => {
  if (!Array.isArray(value) || value.length === 0) throw invalid(name, `${name} is an array with at least one "host:port".`);
  return value.map((address: unknown) => parseAddress(name, address, defaultPort));
};

const parsePrefix = (value: unknown): string => {
  if (typeof value === "string" && PREFIX.test(value)) return value;
  const shown = typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : typeof value;
  throw new RheoError("invalid_name", `prefix has 1–60 characters of A–Z a–z 0–9 . _ : and -; got ${shown}.`, { path: "prefix" });
};

const parseWaitReplicas = (value: unknown, commandTimeoutMs: number): Required<WaitReplicas> | null => {
  if (value === undefined) return null;
  const raw = parseOptions("waitReplicas", value, ["replicas", "timeoutMs"]);
  const max = commandTimeoutMs - 1;
  return {
    replicas: parseNumber("waitReplicas.replicas", raw.replicas, { min: 1, max: MAX_REPLICAS }),
    timeoutMs: parseNumber("waitReplicas.timeoutMs", raw.timeoutMs, { min: 1, max, fallback: Math.min(DEFAULT_WAIT_MS, max) }),
  };
};
