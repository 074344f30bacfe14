import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { describeBackend, OtherProcess } from "@rheo/testing";
import { startMongo } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startMongo();
const module = pathToFileURL(createRequire(import.meta.url).resolve("@rheo/mongo")).href;
const other = await OtherProcess.start({ module, name: "mongo" });
afterAll(async () => {
  await other.stop();
  await server.stop();
});

describeBackend({ name: "mongo in two processes", instances: ["two instances"], open: () => openStore(server.url, other) });
