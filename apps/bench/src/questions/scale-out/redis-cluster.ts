/** Partitions spread over the masters of a Redis Cluster, beside as many on a single server. */
import { Rheo } from "@rheo/core";
import { redis } from "@rheo/redis";
import { startRedisCluster } from "@rheo/testing/servers";
import { type Question, rate } from "../../question.ts";
import { SETTINGS } from "../../redis-host.ts";
import type { Opened, System } from "../../systems.ts";
import { appendAndDrain } from "./drain-streams.ts";

const PARTITIONS = 12;
const SINGLE = 1;

type Place = Pick<Opened, "rheo" | "close">;

const openCluster = async (masters: number): Promise<Place> => {
  const cluster = await startRedisCluster({ masters, settings: SETTINGS });
  try {
    const rheo = await Rheo.open({ backend: redis({ nodes: cluster.nodes }) });
    const close = async (): Promise<void> => {
      await rheo.close();
      await cluster.stop();
    };
    return { rheo, close };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
};

const open = (system: System, masters: number): Promise<Place> => (masters === SINGLE ? system.open() : openCluster(masters));

const question = (masters: number): Question => ({
  name: "scale-out",
  title: masters === SINGLE ? `Redis, ${PARTITIONS} partitions on a single server` : `Redis Cluster, ${masters} masters`,
  mostRuns: 2,
  fits: ({ name }) => name === "redis",
  ask: async (system, { events }) => {
    const { rheo, close } = await open(system, masters);
    try {
      const { append, drain } = await appendAndDrain(rheo, { streams: 1, partitions: PARTITIONS, events });
      const parameters = { masters, partitions: PARTITIONS };
      return [
        rate("append in bulk to masters of Redis", system, append, 1, parameters),
        rate("drain inline from masters of Redis", system, drain, 1, parameters),
      ];
    } finally {
      await close();
    }
  },
});

export const redisClusters: readonly Question[] = [SINGLE, 3].map(question);
