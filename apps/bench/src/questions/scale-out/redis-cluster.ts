/** Partitions spread over the masters of a Redis Cluster. */
import { Rheo } from "@rheo/core";
import { redis } from "@rheo/redis";
import { startRedisCluster } from "@rheo/testing/servers";
import { type Question, rate } from "../../question.ts";
import { SETTINGS } from "../../redis-host.ts";
import { appendAndDrain } from "./drain-streams.ts";

const PARTITIONS = 12;

const question = (masters: number): Question => ({
  name: "scale-out",
  title: `Redis Cluster, ${masters} masters`,
  mostRuns: 2,
  fits: ({ name }) => name === "redis",
  ask: async (system, { events }) => {
    const cluster = await startRedisCluster({ masters, settings: SETTINGS });
    try {
      const rheo = await Rheo.open({ backend: redis({ nodes: cluster.nodes }) });
      const { append, drain } = await appendAndDrain(rheo, { streams: 1, partitions: PARTITIONS, events });
      await rheo.close();
      const parameters = { masters, partitions: PARTITIONS };
      return [
        rate("append in bulk to a Redis Cluster", system, append, 1, parameters),
        rate("drain inline from a Redis Cluster", system, drain, 1, parameters),
      ];
    } finally {
      await cluster.stop();
    }
  },
});

export const redisClusters: readonly Question[] = [1, 3].map(question);
