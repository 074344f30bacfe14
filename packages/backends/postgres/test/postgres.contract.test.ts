import { describeBackend } from "@rheo/testing";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off", max_connections: "100" });
afterAll(() => server.stop());

describeBackend({ name: "postgres", open: () => openStore(server.url) });
