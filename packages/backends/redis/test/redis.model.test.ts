import { describeModel } from "@rheo/testing";
import { startRedis } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startRedis();
afterAll(() => server.stop());

describeModel({ name: "redis", open: () => openStore(server.url), runs: 60 });
