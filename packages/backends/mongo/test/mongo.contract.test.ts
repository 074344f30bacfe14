import { describeBackend } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

// one instance: with conflicts, in mongo.conflicts.test.ts
describeBackend({ name: "mongo", instances: ["two instances"], open: () => openStore(server.url) });
