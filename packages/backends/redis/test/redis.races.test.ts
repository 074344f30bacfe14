import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";
import { startRedis } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startRedis();
afterAll(() => server.stop());

describeRaces({ name: "redis", races: 60, open: () => openStore(server.url), reference: () => memory() });
