/** Every kind of store, empty, for a few facts of the corpus each: with private servers where it needs one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Backend, type Clock, Rheo } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { memory } from "@rheo/memory";
import { mongo } from "@rheo/mongo";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { sqlite } from "@rheo/sqlite";
import { findRedis, type PostgresServer, type RedisServer, startMongo, startPostgres, startRedis } from "@rheo/testing/servers";
import { afterAll, beforeAll } from "vitest";

/** Two members of one store: handles of their own where several processes may share it, else the one object. */
interface Place {
  /** All that were asked for, opened at the same time. */
  readonly members: readonly Rheo[];
  readonly first: Rheo;
  readonly second: Rheo;
  /** Another instance on the same store, which its caller closes. */
  readonly again: () => Promise<Rheo>;
}

export interface Store {
  readonly name: string;
  /** An empty store; what it opens ends with the file. */
  readonly open: (clock?: Clock, members?: number) => Promise<Place>;
}

/** All six, or those named, less Redis where there is none: then it says so, and fails under `CI=true`. */
export const stores = (
  names: readonly string[] = ["memory", "sqlite", "lmdb", "postgres", "redis", "mongo"],
): readonly Store[] => {
  const isWanted = (name: string): boolean => names.includes(name) && (name !== "redis" || hasRedis(name));
  const wanted = names.filter(isWanted);
  let folder = "";
  const urls = new Map<string, string>();
  const ends: (() => Promise<unknown>)[] = [];
  let places = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rheo-corpus-"));
    for (const name of wanted) {
      const start = SERVERS[name];
      if (start === undefined) continue;
      const server = await start();
      urls.set(name, server.url);
      ends.unshift(() => server.stop());
    }
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await rm(folder, { recursive: true, force: true });
  });
  return wanted.map((name) => ({
    name,
    open: async (clock, count = 2) => {
      const make = makerOf(name, folder, urls.get(name) ?? "", ++places);
      const again = (): Promise<Rheo> => openRheo(make(), clock);
      const members = await Promise.all(numbers(count).map(again));
      ends.unshift(...members.map((member) => () => member.close()));
      const [first, second] = members;
      if (first === undefined || second === undefined) throw new RangeError("a place has two members at least");
      return { members, first, second, again };
    },
  }));
};

const SERVERS: Readonly<Record<string, () => Promise<{ readonly url: string; stop(): Promise<void> }>>> = {
  postgres: () => startPostgres({ fsync: "off", max_connections: "100" }),
  redis: () => startRedis({ settings: { appendonly: "yes" } }),
  mongo: () => startMongo(),
};

const openRheo = (backend: Backend, clock: Clock | undefined): Promise<Rheo> =>
  Rheo.open(clock === undefined ? { backend, random: () => 0.5 } : { backend, clock, random: () => 0.5 });

/** What makes a handle on store number `place`. */
const makerOf = (name: string, folder: string, url: string, place: number): (() => Backend) => {
  switch (name) {
    case "memory": {
      const one = memory();
      return () => one;
    }
    case "lmdb": {
      const one = lmdb({ path: join(folder, `lmdb-${place}`), durability: "relaxed" });
      return () => one;
    }
    case "sqlite":
      return () => sqlite({ file: join(folder, `${place}.db`) });
    case "postgres":
      return () => postgres({ url, schema: `corpus_${place}`, maxConnections: 4 });
    case "redis":
      return () => redis({ url, prefix: `corpus${place}` });
    case "mongo":
      return () => mongo({ url, database: `corpus_${place}` });
    default:
      throw new RangeError(`no store ${name}`);
  }
};

/** Whether there is a Redis; says loudly what is not run without, and fails under `CI=true`. */
export const hasRedis = (what: string): boolean => {
  if (findRedis() !== null) return true;
  const text = `NOT RUN: the corpus on ${what}: neither redis-server nor valkey-server is installed.`;
  if (process.env.CI === "true") throw new Error(text);
  console.warn(`\n*** ${text} ***\n`);
  return false;
};

/** A server for one file of tests, ended with it. */
export const serverOf = <Server extends PostgresServer | RedisServer>(start: () => Promise<Server>): (() => Server) => {
  let server: Server | null = null;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.stop());
  return () => {
    if (server === null) throw new Error("The server has not started.");
    return server;
  };
};

/** Lets the event loop turn until a condition holds: looks at states, so that no time is guessed. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> => {
  const endMs = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`Still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

export const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);
