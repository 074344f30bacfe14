/** What may be wrong with a server and the store on it. Reads only. */
import type { Diagnosis } from "@rheo/core";
import { clockDiagnosis, failure, fine, systemClock, warning } from "@rheo/core/internal";
import type { Document } from "mongodb";
import type { Database } from "./database.ts";
import { INDEXES } from "./migrations/0001-initial.ts";

/** Transactions of 4.2 and snapshots of 5.0 are needed; older than 6.0 gets no fixes any more. */
const OLDEST_VERSION = 6;
/** Change streams and members that were away go on from the oplog if it reaches back so far, in ms. */
const SHORT_OPLOG_MS = 3_600_000;
const HOUR_MS = 3_600_000;
/** A transaction of a client that died holds what it wrote for so long, in s; the server's default. */
const LONG_LIFETIME_S = 60;

export const diagnose = async (database: Database): Promise<Diagnosis[]> => [
  ...(await ofServer(database)),
  await lifetime(database),
  await oplog(database),
  ...(await indexes(database)),
];

const ofServer = async ({ db }: Database): Promise<Diagnosis[]> => {
  const beforeMs = systemClock.now();
  const hello = await db.command({ hello: 1 });
  const afterMs = systemClock.now();
  const { version } = await db.command({ buildInfo: 1 });
  const now: unknown = hello.localTime;
  return [
    versionDiagnosis(String(version)),
    members(hello),
    ...(now instanceof Date ? [clockDiagnosis(now.getTime(), beforeMs, afterMs)] : []),
  ];
};

const versionDiagnosis = (version: string): Diagnosis =>
  Number(version.split(".", 1)[0]) >= OLDEST_VERSION
    ? fine("version", `MongoDB ${version}`)
    : failure("version", `MongoDB ${version} is too old`, `Use MongoDB ${OLDEST_VERSION}.0 or newer.`);

const members = ({ setName, hosts, msg }: Document): Diagnosis => {
  if (msg === "isdbgrid")
    return warning("replica set", "a sharded cluster", "Do not shard Rheo's collections: this has not been tried.");
  const count = Array.isArray(hosts) ? hosts.length : 0;
  const told = `replica set ${String(setName)} with ${count} ${count === 1 ? "member" : "members"}`;
  if (count !== 1) return fine("replica set", told);
  return warning("replica set", told, "With one member a lost disk is a lost store: run three, or keep backups.");
};

/** Null: the user may not ask. */
const ask = async ({ client }: Database, command: Document): Promise<Document | null> =>
  client
    .db("admin")
    .command(command)
    .catch(() => null);

const lifetime = async (database: Database): Promise<Diagnosis> => {
  const found = await ask(database, { getParameter: 1, transactionLifetimeLimitSeconds: 1 });
  const seconds: unknown = found?.transactionLifetimeLimitSeconds;
  if (typeof seconds !== "number") return fine("transactions", "how long they may be open is not to be known");
  const told = `a transaction may be open for ${seconds} s`;
  if (seconds < LONG_LIFETIME_S) return fine("transactions", told);
  return warning(
    "transactions",
    `${told}, and so long one of a process that died holds up its partition`,
    "Lower it: db.adminCommand({ setParameter: 1, transactionLifetimeLimitSeconds: 10 })",
  );
};

const oplog = async ({ client }: Database): Promise<Diagnosis> => {
  const entries = client.db("local").collection("oplog.rs");
  const endAt = (direction: 1 | -1): Promise<Document | null> =>
    entries.findOne({}, { sort: { $natural: direction }, projection: { wall: 1 } }).catch(() => null);
  const [first, last] = [await endAt(1), await endAt(-1)];
  if (!(first?.wall instanceof Date && last?.wall instanceof Date)) return fine("oplog", "not to be seen by this user");
  const spanMs = last.wall.getTime() - first.wall.getTime();
  const told = `the oplog reaches back ${(spanMs / HOUR_MS).toFixed(1)} h`;
  // a young server has not filled it yet
  const { maxSize = 0, size = 0 } =
    (await client
      .db("local")
      .command({ collStats: "oplog.rs" })
      .catch(() => null)) ?? {};
  if (spanMs >= SHORT_OPLOG_MS || size < maxSize / 2) return fine("oplog", told);
  return warning("oplog", told, "Make it larger (replSetResizeOplog): a member that is away for longer must be copied anew.");
};

const indexes = async ({ collections }: Database): Promise<Diagnosis[]> => {
  const missing: string[] = [];
  for (const { collection, key, options } of INDEXES) {
    const there = await collections[collection].indexes();
    if (!there.some(({ name }) => name === options.name))
      missing.push(
        `db.${collections[collection].collectionName}.createIndex(${JSON.stringify(key)}, ${JSON.stringify(options)})`,
      );
  }
  if (missing.length === 0) return [fine("indexes", "as Rheo made them")];
  return missing.map((made) => failure("indexes", "an index is missing", `Run in mongosh: ${made}`));
};
