/** What a server must be before Rheo keeps anything there. All of it is told by INFO: CONFIG is forbidden by many providers. */
import { RheoError } from "@rheo/core";

/** The oldest Redis whose scripts and streams do what ours need. Valkey names a version of Redis as well. */
const OLDEST_MAJOR = 7;

/** Warnings of this process; each is given once. */
const given = new Set<string>();

export interface StartupOptions {
  readonly isCluster: boolean;
  readonly allowEviction: boolean;
}

/** `infos`: the text of INFO, of each master. @throws unavailable */
export const checkServers = (infos: readonly string[], options: StartupOptions): void => {
  for (const info of infos) checkServer(fieldsOf(info), options);
};

export type Fields = ReadonlyMap<string, string>;

/** The text of INFO, taken apart. */
export const fieldsOf = (info: string): Fields =>
  new Map(
    info.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );

const checkServer = (fields: Fields, { isCluster, allowEviction }: StartupOptions): void => {
  const version = fields.get("redis_version") ?? "";
  if (!(Number.parseInt(version, 10) >= OLDEST_MAJOR))
    throw refused(`the server is Redis ${version || "of an unknown version"}; Rheo needs Redis 7.0 or newer, or Valkey`);
  if (fields.get("cluster_enabled") === "1" && !isCluster)
    throw refused("the server is part of a Cluster; open it with redis({ nodes }), or with cluster=true in the URL");
  checkPolicy(fields.get("maxmemory_policy"), allowEviction);
  if (fields.get("aof_enabled") === "0")
    warn(
      "RHEO_REDIS_NO_AOF",
      "The Redis server keeps no append-only file: when it crashes, all that came after its last snapshot is lost. Set appendonly yes.",
    );
};

/** Keys without a time to live, as ours, are safe from the volatile policies: the server then refuses writes, as with noeviction. */
const checkPolicy = (policy: string | undefined, allowEviction: boolean): void => {
  if (policy === undefined)
    warn(
      "RHEO_REDIS_POLICY_UNKNOWN",
      "The Redis server does not tell its maxmemory-policy. Make sure that it is noeviction, or Rheo's keys may vanish.",
    );
  else if (policy.startsWith("allkeys-") && !allowEviction)
    throw refused(
      `the server's maxmemory-policy is ${policy}: when its memory is used up it drops events and progress without a word. Set maxmemory-policy noeviction, or, if losing them is fine, open with { allowEviction: true }`,
    );
};

const refused = (why: string): RheoError => new RheoError("unavailable", `Redis: ${why}. Nothing was written.`);

const warn = (code: string, text: string): void => {
  if (given.has(code)) return;
  given.add(code);
  process.emitWarning(text, { type: "RheoWarning", code });
};
