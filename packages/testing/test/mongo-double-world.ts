/** The double, and the official driver to it: one server for a file of tests, a database for each test. */
import { randomUUID } from "node:crypto";
import { type MongoServer, startMongo } from "@rheo/testing/servers";
import {
  type ClientSession,
  type Collection,
  type Db,
  type Document,
  MongoClient,
  MongoServerError,
  type ObjectId,
} from "mongodb";
import { afterAll, beforeAll } from "vitest";

export interface World {
  readonly server: MongoServer;
  readonly client: MongoClient;
  database(): Db;
  /** Of a database of its own. `_id` is what the test makes it. */
  collection(name?: string): Collection<Any>;
  session(): ClientSession;
}

export interface Any extends Document {
  _id?: string | number | ObjectId | Readonly<Record<string, unknown>>;
}

/** Starts it before the tests of a file and ends it after them. */
export const useMongo = (): World => {
  const world: { server?: MongoServer; client?: MongoClient } = {};
  const sessions: ClientSession[] = [];
  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error("the server is not started yet");
    return part;
  };
  beforeAll(async () => {
    world.server = await startMongo();
    world.client = await new MongoClient(world.server.url, { serverSelectionTimeoutMS: 5_000, promoteLongs: true }).connect();
  });
  afterAll(async () => {
    for (const session of sessions) await session.endSession().catch(() => undefined);
    await world.client?.close();
    await world.server?.stop();
  });
  const database = (): Db => there(world.client).db(`test_${randomUUID().slice(0, 8)}`);
  return {
    get server() {
      return there(world.server);
    },
    get client() {
      return there(world.client);
    },
    database,
    collection: (name = "docs") => database().collection<Any>(name),
    session: () => {
      const session = there(world.client).startSession();
      sessions.push(session);
      return session;
    },
  };
};

/** The code and labels of the server's refusal. @throws when it is not refused */
export const refusal = async (
  work: Promise<unknown>,
): Promise<{ code: unknown; labels: readonly string[]; error: MongoServerError }> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof MongoServerError) return { code: error.code, labels: [...error.errorLabels], error };
    throw error;
  }
  throw new Error("It was not refused.");
};
