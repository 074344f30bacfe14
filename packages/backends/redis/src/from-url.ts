import { invalid, parseUrl, type UrlParts } from "./url.ts";

type Options = Record<string, unknown>;

const text = (value: string): string => value;
const toBoolean = (value: string, name: string): boolean => {
  if (value === "true" || value === "false") return value === "true";
  throw invalid(name, `${name} is true or false.`);
};
/** What is no number is refused with the others. */
const toNumber = (value: string): number => (value.trim() === "" ? Number.NaN : Number(value));

const COMMON = {
  prefix: text,
  notify: toBoolean,
  allowEviction: toBoolean,
  connectTimeoutMs: toNumber,
  commandTimeoutMs: toNumber,
  waitReplicas: toNumber,
  waitTimeoutMs: toNumber,
};
const SENTINEL = { sentinel: text, sentinelUsername: text, sentinelPassword: text };
const PARAMETERS: Readonly<Record<string, (value: string, name: string) => unknown>> = {
  ...COMMON,
  ...SENTINEL,
  cluster: toBoolean,
};

/**
 * A URL as `Rheo.open` takes it: `redis://user:password@host:port/database` or `rediss://…`, with options among its parameters: `prefix`,
 * `notify`, `allowEviction`, `connectTimeoutMs`, `commandTimeoutMs`, `waitReplicas` (how many) and `waitTimeoutMs`. With `cluster=true`
 * its hosts, separated by commas, are nodes of a Cluster. With `sentinel=<name of the master>` they are Sentinels, whose own user and
 * password are `sentinelUsername` and `sentinelPassword`. What comes out is for `resolveOptions`.
 * @throws invalid_option
 */
export const optionsFromUrl = (url: string): Readonly<Options> => {
  const parts = parseUrl(url);
  const given = read(parts.query);
  const { cluster = false, sentinel, sentinelUsername, sentinelPassword, waitReplicas, waitTimeoutMs, ...common } = given;
  if (waitReplicas !== undefined)
    common.waitReplicas = { replicas: waitReplicas, ...(waitTimeoutMs === undefined ? {} : { timeoutMs: waitTimeoutMs }) };
  else if (waitTimeoutMs !== undefined) throw invalid("waitTimeoutMs", "waitTimeoutMs goes with waitReplicas.");
  return {
    ...placeOf(url, parts, cluster === true, { sentinel, sentinelUsername, sentinelPassword }),
    ...common,
  };
};

const read = (query: URLSearchParams): Options => {
  const options: Options = {};
  for (const [name, value] of query) {
    const parse = Object.hasOwn(PARAMETERS, name) ? PARAMETERS[name] : undefined;
    if (parse === undefined)
      throw invalid(name, `The url has an unknown parameter, "${name}". Known: ${Object.keys(PARAMETERS).join(", ")}.`);
    if (Object.hasOwn(options, name)) throw invalid(name, `The url has the parameter "${name}" twice.`);
    options[name] = parse(value, name);
  }
  return options;
};

const placeOf = (url: string, parts: UrlParts, isCluster: boolean, { sentinel, ...sentinelAccess }: Options): Options => {
  if (isCluster && sentinel !== undefined) throw invalid("cluster", "A url is of a Cluster or of Sentinels, not of both.");
  if (sentinel === undefined) {
    const [stray] = definedOf(sentinelAccess);
    if (stray !== undefined) throw invalid(stray[0], `${stray[0]} goes with sentinel=<name of the master>.`);
  }
  const { isTls, username, password, hosts, database } = parts;
  const access = Object.fromEntries(definedOf({ username, password, tls: isTls ? true : null }));
  if (isCluster) {
    if (database !== null && database !== 0) throw invalid("url", "A Cluster has database 0 only.");
    return { nodes: hosts, ...access };
  }
  if (sentinel !== undefined)
    return {
      sentinels: hosts,
      name: sentinel,
      database: database ?? 0,
      ...Object.fromEntries(definedOf(sentinelAccess)),
      ...access,
    };
  if (hosts.length > 1)
    throw invalid(
      "url",
      "The url names several hosts. Add cluster=true for a Cluster, or sentinel=<name of the master> for Sentinels.",
    );
  return { url: url.split("?", 1)[0] };
};

const definedOf = (options: Options): [string, unknown][] =>
  Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
