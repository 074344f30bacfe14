/** Stores that several processes can share, each with private servers where it needs one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRedis, startPostgres, startRedis } from "@rheo/testing/servers";
import { afterAll, beforeAll } from "vitest";

export interface SharedStore {
  readonly name: string;
  /** The URL of an empty store. */
  readonly place: () => string;
}

const MISSING = "the runtime on Redis: neither redis-server nor valkey-server is installed";

/** To be called once in a test file: what is started ends with the file. */
export const sharedStores = (): readonly SharedStore[] => {
  let [folder, postgres, redis] = ["", "", ""];
  const stops: (() => Promise<void>)[] = [];
  let places = 0;
  const hasRedis = findRedis() !== null;
  if (!hasRedis && process.env.CI === "true") throw new Error(`NOT RUN: ${MISSING}.`);
  if (!hasRedis) console.warn(`\n*** NOT RUN: ${MISSING}. ***\n`);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rheo-runtime-"));
    const server = await startPostgres();
    stops.push(() => server.stop());
    postgres = server.url;
    if (!hasRedis) return;
    const other = await startRedis({ settings: { appendonly: "yes" } });
    stops.push(() => other.stop());
    redis = other.url;
  });
  afterAll(async () => {
    for (const stop of stops) await stop();
    await rm(folder, { recursive: true, force: true });
  });
  const stores = [
    { name: "sqlite", place: () => `sqlite:${join(folder, `${++places}.db`)}` },
    { name: "postgres", place: () => `${postgres}?schema=place_${++places}` },
    { name: "redis", place: () => `${redis}?prefix=place${++places}` },
  ];
  return hasRedis ? stores : stores.filter(({ name }) => name !== "redis");
};
