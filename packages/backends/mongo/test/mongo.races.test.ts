import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

describeRaces({ name: "mongo", races: 25, open: () => openStore(server.url), reference: () => memory() });
