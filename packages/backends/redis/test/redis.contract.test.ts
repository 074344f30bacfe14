import { describeBackend } from "@rheo/testing";
import { startRedis } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startRedis();
afterAll(() => server.stop());

describeBackend({ name: "redis", open: () => openStore(server.url) });
