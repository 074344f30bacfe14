import { describeBackend } from "@rheo/testing";
import { isLong } from "@rheo/testing/internal";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, test } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

// else: two instances, in two processes, in mongo.processes.test.ts
if (server.real || isLong()) describeBackend({ name: "mongo", open: () => openStore(server.url) });
else test.todo("the contract in one process, which is of the long tests: npm run test:long");
