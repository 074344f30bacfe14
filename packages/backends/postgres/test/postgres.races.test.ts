import { memory } from "@rheo/memory";
import { describeRaces } from "@rheo/testing";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

describeRaces({ name: "postgres", races: 30, open: () => openStore(server.url), reference: () => memory() });
