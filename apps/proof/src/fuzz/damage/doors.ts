/** The doors to damaged stores: each seed damages some stores, one way each, and visits them. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "@rheo/testing/internal";
import { findRedis, startPostgres, startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import pg from "pg";
import { Counts } from "../counts.ts";
import type { Door, Report } from "../door.ts";
import { type Damage, faultsOf } from "./damage.ts";
import { POSTGRES_DAMAGES } from "./postgres.ts";
import { REDIS_DAMAGES } from "./redis.ts";
import { stockShop } from "./shop.ts";
import { SQLITE_DAMAGES } from "./sqlite.ts";
import { visit } from "./visit.ts";

/** A place for stores of one kind, each new. */
export interface Site<Target> extends AsyncDisposable {
  /** Stocks a store, damages it and visits it; gives what is wrong with what came of it. */
  inspect(damage: Damage<Target>): Promise<readonly string[]>;
}

export const sqliteSite = async (): Promise<Site<string>> => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-damage-"));
  const [base, file] = [join(folder, "base.db"), join(folder, "shop.db")];
  await stockShop(`sqlite:${base}`);
  return {
    inspect: async ({ hit, apply }) => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
      copyFileSync(base, file);
      await apply(file);
      return faultsOf(await visit(`sqlite:${file}`), hit);
    },
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
  };
};

export const redisSite = async (): Promise<Site<Redis>> => {
  const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no" } });
  const redis = new Redis(server.url);
  return {
    inspect: async ({ hit, apply }) => {
      await redis.flushall();
      await stockShop(server.url);
      await apply(redis);
      return faultsOf(await visit(server.url), hit);
    },
    [Symbol.asyncDispose]: async () => {
      await redis.quit();
      await server.stop();
    },
  };
};

export const postgresSite = async (): Promise<Site<pg.Client>> => {
  const server = await startPostgres({ fsync: "off" });
  const client = new pg.Client(server.url);
  await client.connect();
  return {
    inspect: async ({ hit, apply }) => {
      await client.query("DROP SCHEMA IF EXISTS rheo CASCADE");
      await stockShop(server.url);
      await apply(client);
      return faultsOf(await visit(server.url), hit);
    },
    [Symbol.asyncDispose]: async () => {
      await client.end();
      await server.stop();
    },
  };
};

const siteDoor = <Target>(name: string, damages: readonly Damage<Target>[], open: () => Promise<Site<Target>>): Door => ({
  name,
  knock: async (seed, cases): Promise<Report> => {
    await using site = await open();
    const counts = new Counts();
    const faults: string[] = [];
    const random = seeded(seed);
    for (let left = cases; left > 0; left--) {
      const damage = random.pick(damages);
      const found = await site.inspect(damage);
      counts.add(found.length === 0 ? { kind: "value", value: null } : { kind: "fault", text: damage.name });
      faults.push(...found.map((fault) => `${damage.name}: ${fault}`));
    }
    return { counts, faults };
  },
});

export const sqliteDoor: Door = siteDoor("sqlite", SQLITE_DAMAGES, sqliteSite);
export const postgresDoor: Door = siteDoor<pg.Client>("postgres", POSTGRES_DAMAGES, postgresSite);
export const redisDoor: Door | null = findRedis() === null ? null : siteDoor("redis", REDIS_DAMAGES, redisSite);
