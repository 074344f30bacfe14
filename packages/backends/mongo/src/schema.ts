/** The version of what is stored, and bringing it up to date. */
import { randomUUID } from "node:crypto";
import { RheoError } from "@rheo/core";
import type { Database } from "./database.ts";
import { removeLeftGarbage } from "./garbage.ts";
import { migrations } from "./migrations/index.ts";

const SCHEMA_VERSION = migrations.length;

/**
 * Connects, and migrates if that is allowed. Several processes may do so at once: each step does nothing where it is done already, and the
 * version only rises. The id of the store comes back.
 * @throws schema_outdated, unavailable
 */
export const prepare = async (database: Database, mayMigrate: boolean): Promise<string> => {
  await requireReplicaSet(database);
  const { meta } = database.collections;
  const found = await meta.findOne({ _id: "schema" });
  const version = found !== null && "version" in found ? found.version : 0;
  if (version > SCHEMA_VERSION)
    throw outdated(`has schema ${version}, newer than this code, which knows ${SCHEMA_VERSION}. Update @rheo/mongo.`);
  if (version < SCHEMA_VERSION) {
    if (!mayMigrate) throw outdated(`has schema ${version}, and this code needs ${SCHEMA_VERSION}. Run rheo.migrate() first.`);
    for (const migrate of migrations.slice(version)) await migrate(database);
    const storeId = randomUUID();
    await meta.updateOne({ _id: "schema" }, { $max: { version: SCHEMA_VERSION }, $setOnInsert: { storeId } }, { upsert: true });
  }
  if (mayMigrate) await removeLeftGarbage(database.collections);
  const schema = await meta.findOne({ _id: "schema" });
  return schema !== null && "storeId" in schema ? schema.storeId : "";
};

const outdated = (problem: string): RheoError => new RheoError("schema_outdated", `The MongoDB store ${problem}`);

/** Transactions need one, if only of one member. */
const requireReplicaSet = async ({ db, client }: Database): Promise<void> => {
  await client.connect();
  const { setName, msg } = await db.command({ hello: 1 });
  if (typeof setName === "string" || msg === "isdbgrid") return;
  throw new RheoError(
    "unavailable",
    "MongoDB runs as a standalone server, which has no transactions. Run it as a replica set, of one member if you like: " +
      "start mongod with --replSet rs0, then once in mongosh: rs.initiate(). Nothing was written.",
  );
};
