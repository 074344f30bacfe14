import { describeBackend } from "@rheo/testing";
import { isLong } from "@rheo/testing/internal";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, test } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off", max_connections: "100" });
afterAll(() => server.stop());

// two instances have all that is between processes; that members share one is the same code on every store
const instances = isLong() ? (["one instance", "two instances"] as const) : (["two instances"] as const);
describeBackend({ name: "postgres", open: () => openStore(server.url), instances });
if (!isLong())
  test.todo("the contract with one instance, which is of the long tests: npm run test:long; other stores have it always");
