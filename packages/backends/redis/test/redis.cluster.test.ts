import { describeBackend, describeCrashes, describeModel } from "@rheo/testing";
import { isLong } from "@rheo/testing/internal";
import { startRedisCluster } from "@rheo/testing/servers";
import { afterAll, test } from "vitest";
import { openClusterStore } from "./fixtures/store.ts";

const cluster = await startRedisCluster();
afterAll(() => cluster.stop());

const open = (): ReturnType<typeof openClusterStore> =>
  openClusterStore(
    cluster.nodes,
    cluster.masters.map(({ url }) => url),
  );

const instances = isLong() ? (["one instance", "two instances"] as const) : (["two instances"] as const);
describeBackend({ name: "redis cluster", open, instances });
if (!isLong())
  test.todo("the contract with one instance, which is of the long tests: npm run test:long; a single server has it always");
describeModel({ name: "redis cluster", open, runs: 20 });
describeCrashes({ name: "redis cluster", open, storms: 4, fleets: 1 });
