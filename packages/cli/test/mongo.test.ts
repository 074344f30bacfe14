/** The same commands on MongoDB: looking, changing, and what the doctor says. */
import { type MongoServer, startMongo } from "@rheo/testing/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

let server: MongoServer;
let scene: Scene;
beforeAll(async () => {
  server = await startMongo();
  scene = await openScene(server.url);
});
afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  await server.stop();
});

test("what holds a group up is named", async () => {
  const { code, out } = await run("explain orders billing --json", scene);
  expect([code, values(out)]).toMatchObject([0, [{ eventId: "o3", state: "retrying", lastError: "busy" }, { eventId: "p1" }]]);
});

test("the doctor looks at the server", async () => {
  const { code, out } = await run("doctor --json", scene);
  expect(code).toBe(0);
  expect((values(out) as unknown[]).length).toBeGreaterThan(2);
});
