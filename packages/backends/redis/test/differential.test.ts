/** The Lua does what the arithmetic in core does. */
import { memory } from "@rheo/memory";
import type { StoreUnderTest } from "@rheo/testing";
import { playGames } from "@rheo/testing/internal";
import { startRedis, startRedisCluster } from "@rheo/testing/servers";
import { afterAll, describe, test } from "vitest";
import { openClusterStore, openStore } from "./fixtures/store.ts";

const server = await startRedis();
const cluster = await startRedisCluster();
afterAll(() => Promise.all([server.stop(), cluster.stop()]));

/** Tokens of a group that is made again rise by partition on a Cluster, and over all of them elsewhere: it is not made again there. */
const STORES: readonly (readonly [name: string, games: number, recreates: boolean, open: () => StoreUnderTest])[] = [
  ["a server", 60, true, () => openStore(server.url)],
  [
    "a Cluster",
    20,
    false,
    () =>
      openClusterStore(
        cluster.nodes,
        cluster.masters.map(({ url }) => url),
      ),
  ],
];

describe("random calls of the port", () => {
  test.for(STORES)("on %s: %i games are answered as by memory", { timeout: 600_000 }, ([, games, recreates, open]) =>
    playGames({ open, reference: () => memory(), games, steps: 90, recreates, reopens: false }),
  );
});
