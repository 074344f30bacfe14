/** What may be wrong with the servers, each master for itself. All of it is told by INFO, TIME and CLUSTER INFO: CONFIG is forbidden by many providers. */
import type { Diagnosis } from "@rheo/core";
import { clockDiagnosis, failure, fine, warning } from "@rheo/core/internal";
import type { RedisConnection } from "./connection.ts";
import { type Fields, fieldsOf } from "./startup.ts";

/** With more of its memory used, a burst may fill it. */
const FULL_SHARE = 0.9;
/** More than this beside what is used is worth a look; less is what every allocator has. */
const FRAGMENTED = 1.8;
const FRAGMENTED_BYTES = 268_435_456;

export const diagnose = async (connection: RedisConnection, nowMs: () => number): Promise<Diagnosis[]> => {
  const beforeMs = nowMs();
  const times = await connection.ofEachMaster("time");
  const afterMs = nowMs();
  const infos = (await connection.infos()).map(fieldsOf);
  return [
    ...infos.flatMap((fields) => named(ofServer(fields), fields, infos.length)),
    ...times.map((time) => clockDiagnosis(toMs(time), beforeMs, afterMs)),
    ...(connection.isCluster ? [cluster(fieldsOf(String((await connection.ofEachMaster("cluster", "info"))[0])))] : []),
  ];
};

/** [seconds, microseconds] */
const toMs = (time: unknown): number => {
  const [seconds, micros] = Array.isArray(time) ? time.map(Number) : [];
  return (seconds ?? 0) * 1_000 + Math.floor((micros ?? 0) / 1_000);
};

/** Of several, which one. */
const named = (found: readonly Diagnosis[], fields: Fields, servers: number): readonly Diagnosis[] =>
  servers === 1 ? found : found.map((one) => ({ ...one, message: `port ${fields.get("tcp_port")}: ${one.message}` }));

const ofServer = (fields: Fields): Diagnosis[] => [
  fine(
    "version",
    `Redis ${fields.get("redis_version")}${fields.has("valkey_version") ? ` (Valkey ${fields.get("valkey_version")})` : ""}`,
  ),
  writable(fields),
  policy(fields),
  evicted(fields),
  memory(fields),
  fragmentation(fields),
  persistence(fields),
];

const writable = (fields: Fields): Diagnosis =>
  fields.get("role") === "master"
    ? fine("writable", "the server is a master")
    : failure(
        "writable",
        `the server is a ${fields.get("role")}, which only reads`,
        "Point the URL at the master, or at its Sentinels.",
      );

/** Keys without a time to live, as ours, are safe from the volatile policies. */
const policy = (fields: Fields): Diagnosis => {
  const found = fields.get("maxmemory_policy");
  if (found === undefined)
    return warning("eviction", "the server does not tell its maxmemory-policy", "Make sure that it is noeviction.");
  if (!found.startsWith("allkeys-")) return fine("eviction", `maxmemory-policy is ${found}`);
  return failure(
    "eviction",
    `maxmemory-policy is ${found}: when memory is used up, events and progress vanish`,
    "CONFIG SET maxmemory-policy noeviction, and in redis.conf.",
  );
};

const evicted = (fields: Fields): Diagnosis => {
  const keys = Number(fields.get("evicted_keys") ?? 0);
  if (keys === 0) return fine("evicted keys", "none since the server started");
  return warning(
    "evicted keys",
    `${keys} since the server started; Rheo's may be among them if the policy was an allkeys one`,
    "Give the server more memory, and Rheo one of its own.",
  );
};

const memory = (fields: Fields): Diagnosis => {
  const [used, most] = [Number(fields.get("used_memory")), Number(fields.get("maxmemory"))];
  if (!(most > 0)) return fine("memory", `${mebibytes(used)} used, without a bound`);
  const told = `${mebibytes(used)} of ${mebibytes(most)} used`;
  if (used < most * FULL_SHARE) return fine("memory", told);
  return warning("memory", told, "Trim streams, or raise maxmemory: when it is used up, appends and settles are refused.");
};

const fragmentation = (fields: Fields): Diagnosis => {
  const ratio = Number(fields.get("mem_fragmentation_ratio"));
  const beside = Number(fields.get("mem_fragmentation_bytes"));
  if (!(ratio > FRAGMENTED && beside > FRAGMENTED_BYTES))
    return fine("fragmentation", Number.isFinite(ratio) ? `ratio ${ratio}` : "not told");
  return warning(
    "fragmentation",
    `ratio ${ratio}, ${mebibytes(beside)} beside what is used`,
    "CONFIG SET activedefrag yes, or restart the server when a replica has taken over.",
  );
};

const persistence = (fields: Fields): Diagnosis => {
  if (fields.get("aof_enabled") !== "1")
    return warning(
      "persistence",
      "no append-only file: a crash loses what came after the last snapshot",
      "CONFIG SET appendonly yes, and in redis.conf.",
    );
  if (fields.get("aof_last_write_status") === "err")
    return failure(
      "persistence",
      "the last write of the append-only file failed",
      "See the server's log; most often its disk is full.",
    );
  if (fields.get("aof_last_bgrewrite_status") === "err")
    return warning(
      "persistence",
      "the last rewrite of the append-only file failed, so it grows",
      "See the server's log; most often memory or disk are short.",
    );
  return fine("persistence", "append-only file");
};

const cluster = (fields: Fields): Diagnosis => {
  const state = fields.get("cluster_state");
  if (state === "ok") return fine("cluster", `${fields.get("cluster_size")} masters serve all slots`);
  return failure(
    "cluster",
    `cluster_state is ${state}, ${fields.get("cluster_slots_ok")} of 16384 slots are served`,
    "redis-cli --cluster check HOST:PORT says which are not.",
  );
};

const mebibytes = (size: number): string => `${Math.round(size / 1_048_576)} MiB`;
