import { describeCrashes } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

describeCrashes({ name: "mongo", open: () => openStore(server.url), storms: 2, fleets: 1 });
