/** Clients of ioredis: those that Rheo makes, and what one of the user's must not be set to. */
import { Cluster, type RedisOptions as DriverOptions, Redis } from "ioredis";
import type { Access, ResolvedOptions } from "./options.ts";
import { invalid } from "./url.ts";

export type Client = Redis | Cluster;
/** Replies keep the shapes that they have had for ever. */
type Driver = Omit<DriverOptions, "replyMapping">;

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** How often a server that loads its data is asked whether it is done, in ms. */
const LOADING_PAUSE_MS = 100;

export const isCluster = (client: Client): client is Cluster => client.isCluster;

/** How long to wait before the n-th attempt to connect, in ms: growing, and not the same for all. */
export const pauseMs = (attempt: number, random: () => number): number =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 16)) * (0.5 + random());

/** The client for commands: a new one that does not connect yet, or the user's. */
export const createClient = (options: ResolvedOptions, random: () => number): Client => {
  const { source } = options;
  if (source.kind === "client") return source.client;
  const retryStrategy = (attempt: number): number => pauseMs(attempt, random);
  const driver: Driver = {
    ...accessOf(source),
    lazyConnect: true,
    connectionName: "rheo",
    connectTimeout: options.connectTimeoutMs,
    // a connection that owes an answer for so long is given up
    socketTimeout: options.commandTimeoutMs,
    maxLoadingRetryTime: LOADING_PAUSE_MS,
    autoResendUnfulfilledCommands: false,
    // whoever waits for an answer hears of a lost connection at once
    maxRetriesPerRequest: 0,
  };
  if (source.kind === "cluster")
    return new Cluster([...source.nodes], {
      lazyConnect: true,
      redisOptions: driver,
      clusterRetryStrategy: retryStrategy,
      retryDelayOnFailover: 0,
      // a certificate is for the name of its node
      ...(source.tls === null ? {} : { dnsLookup: (name, done) => done(null, name) }),
    });
  const place: Driver =
    source.kind === "server"
      ? source.address
      : {
          sentinels: [...source.sentinels],
          name: source.name,
          ...definedOf({ sentinelUsername: source.sentinelUsername, sentinelPassword: source.sentinelPassword }),
          ...(source.tls === null ? {} : { sentinelTLS: source.tls, enableTLSForSentinelMode: true }),
        };
  return new Redis({ ...driver, ...place, db: source.database, enableOfflineQueue: false, retryStrategy });
};

const accessOf = ({ username, password, tls }: Access): Driver => definedOf({ username, password, tls });

const definedOf = (options: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));

/**
 * A connection like the client's, that does not connect yet, and once lost stays so. To some node of a Cluster; null when none is known.
 */
export const createListener = (client: Client, connectTimeoutMs: number, random: () => number): Redis | null => {
  const nodes = isCluster(client) ? client.nodes() : [client];
  const node = nodes[Math.floor(random() * nodes.length)];
  if (node === undefined) return null;
  return node.duplicate({
    lazyConnect: true,
    connectionName: "rheo-wake",
    connectTimeout: connectTimeoutMs,
    socketTimeout: connectTimeoutMs,
    retryStrategy: null,
    reconnectOnError: null,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    readOnly: false,
  });
};

/** How long the end of a connection is waited for, in ms. */
const END_MS = 1_000;

/** Ends a client. Resolves once it has no connection. */
export const endClient = async (client: Client): Promise<void> => {
  if (client.status === "end") return;
  if (client.status === "reconnecting") return client.disconnect();
  const ending = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, END_MS);
    client.once("end", () => {
      clearTimeout(timer);
      resolve();
    });
  });
  client.disconnect();
  if (!isCluster(client)) client.stream?.destroy();
  await ending;
};

/**
 * A client of the user's, as it is. Whatever it is set to do about commands it has lost, ours are sent once (see `Sending`); what would
 * change their keys, their answers or the place where they run is refused.
 * @throws invalid_option
 */
export const checkClient = (value: unknown): Client => {
  if (!isClient(value)) throw invalid("client", "client is a Redis or a Cluster of ioredis.");
  const options: Readonly<Record<string, unknown>> = { ...value.options };
  const ofNodes: unknown = options.redisOptions;
  const settings = { ...(typeof ofNodes === "object" ? ofNodes : {}), ...options };
  for (const [name, isFine, advice] of RULES) {
    if (!isFine(Reflect.get(settings, name))) throw invalid("client", `A client for Rheo is not set to "${name}": ${advice}`);
  }
  if (!isCluster(value) && value.mode !== "normal")
    throw invalid("client", `The client is in ${value.mode} mode, in which commands cannot be sent. Give Rheo one of its own.`);
  return value;
};

const isUnset = (value: unknown): boolean => value === undefined || value === null || value === false || value === "";
const RULES: readonly (readonly [name: string, isFine: (value: unknown) => boolean, advice: string])[] = [
  ["keyPrefix", isUnset, 'it would hide keys from scripts that find them by name. Write redis({ client, prefix: "…" }).'],
  ["readOnly", isUnset, "it would read from replicas, which may lag."],
  ["role", (value) => isUnset(value) || value === "master", 'only the master takes writes. Set role: "master".'],
  ["scaleReads", (value) => isUnset(value) || value === "master", 'replicas may lag. Set scaleReads: "master".'],
  ["stringNumbers", isUnset, "answers would not be what Rheo expects."],
  ["replyMapping", (value) => isUnset(value) || value === "legacy", "answers would not be what Rheo expects."],
  ["monitor", isUnset, "no commands could be sent."],
];

const isClient = (value: unknown): value is Client =>
  typeof value === "object" &&
  value !== null &&
  ["sendCommand", "duplicate", "on", "connect"].every((name) => typeof Reflect.get(value, name) === "function") &&
  typeof Reflect.get(value, "isCluster") === "boolean" &&
  typeof Reflect.get(value, "options") === "object";
