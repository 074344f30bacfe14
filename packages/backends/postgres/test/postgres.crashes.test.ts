import { describeCrashes } from "@rheo/testing";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

describeCrashes({ name: "postgres", open: () => openStore(server.url), storms: 12, fleets: 2 });
