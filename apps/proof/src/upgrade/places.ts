/** Where a fixture is made or opened: a folder, or a private server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMongo, startPostgres, startRedis } from "@rheo/testing/servers";

export interface FixturePlace {
  readonly place: string;
  readonly close: () => Promise<void>;
}

export const openFixturePlace = async (store: string): Promise<FixturePlace> => {
  if (store === "postgres") {
    const server = await startPostgres({ fsync: "off" });
    return { place: server.url, close: () => server.stop() };
  }
  if (store === "mongo") {
    const server = await startMongo();
    return { place: server.url, close: () => server.stop() };
  }
  if (store === "redis") {
    const server = await startRedis();
    return { place: server.url, close: () => server.stop() };
  }
  const folder = mkdtempSync(join(tmpdir(), "rheo-fixture-"));
  return { place: folder, close: async () => rmSync(folder, { recursive: true, force: true }) };
};
