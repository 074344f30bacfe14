import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { describeBackend, OtherProcess } from "@rheo/testing";
import { startRedis } from "@rheo/testing/servers";
import { afterAll } from "vitest";
import { openStore } from "./fixtures/store.ts";

const server = await startRedis();
const module = pathToFileURL(createRequire(import.meta.url).resolve("@rheo/redis")).href;
const other = await OtherProcess.start({ module, name: "redis" });
afterAll(async () => {
  await other.stop();
  await server.stop();
});

describeBackend({ name: "redis in two processes", instances: ["two instances"], open: () => openStore(server.url, other) });
