import { describeModel } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

describeModel({ name: "mongo", open: () => openStore(server.url), runs: 10 });
