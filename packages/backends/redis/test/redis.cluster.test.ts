import { describeBackend, describeCrashes, describeModel } from "@rheo/testing";
import { startRedisCluster } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openClusterStore } from "./fixtures/store.ts";

const cluster = await startRedisCluster();
afterAll(() => cluster.stop());

const open = (): ReturnType<typeof openClusterStore> =>
  openClusterStore(
    cluster.nodes,
    cluster.masters.map(({ url }) => url),
  );

describeBackend({ name: "redis cluster", open });
describeModel({ name: "redis cluster", open, runs: 20 });
describeCrashes({ name: "redis cluster", open, storms: 4, fleets: 1 });
