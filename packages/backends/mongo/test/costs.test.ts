/** Costs that do not depend on the machine: commands, as the driver tells of them. */
import type { Backend } from "@rheo/core";
import { startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { acks, drain, fetching, fill, openBackend, request, settling } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
const client = await new MongoClient(server.url, { monitorCommands: true }).connect();
const sent: string[] = [];
client.on("commandStarted", ({ commandName }) => void sent.push(commandName));
afterAll(async () => {
  await client.close();
  await server.stop();
});

let backend: Backend;
beforeEach(async () => {
  backend = await openBackend({ client, database: newDatabase(), notify: false });
});
afterEach(() => backend.close());

const WRITES = new Set(["insert", "update", "delete", "findAndModify", "commitTransaction"]);

const costOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  sent.length = 0;
  await work();
  return [...sent];
};
const writesIn = (commands: readonly string[]): string[] => commands.filter((name) => WRITES.has(name));

test("an append is two reads and three writes, however many events", async () => {
  await fill(backend, 1);
  for (const count of [1, 500]) {
    const commands = await costOf(() => backend.append([request(count)]));
    expect(commands).toEqual(["find", "aggregate", "update", "insert", "commitTransaction"]);
  }
});

test("a batch fetched, and the last one settled, is four reads and three writes, however many events", async () => {
  await fill(backend, 2_000);
  for (const limit of [10, 500]) {
    const { grants } = await backend.exchange(fetching(limit));
    const commands = await costOf(() => backend.exchange(fetching(limit, acks(grants))));
    expect(commands.filter((name) => !WRITES.has(name)).sort()).toEqual(["aggregate", "find", "find", "find"]);
    expect(writesIn(commands)).toEqual(["update", "delete", "commitTransaction"]);
    await drain(backend, 500, 1);
  }
});

test("a fetch that finds nothing writes nothing, and takes no transaction", async () => {
  await fill(backend, 3);
  await drain(backend, 10);
  const commands = await costOf(() => backend.exchange(fetching(10)));
  expect([...commands].sort()).toEqual(["aggregate", "find", "find"]);
});

test("neither history nor backlog make a fetch dearer", async () => {
  await fill(backend, 3_000);
  const cost = async (): Promise<number> =>
    (
      await costOf(async () => {
        const { grants } = await backend.exchange(fetching(10));
        await backend.exchange(settling(acks(grants)));
      })
    ).length;
  await cost();
  const early = await cost();
  await drain(backend, 500, 2_000);
  expect(await cost()).toBe(early);
});

test("a retry costs what another delivery does, and one due query", async () => {
  await fill(backend, 20);
  const { grants } = await backend.exchange(fetching(20));
  const retry = { kind: "retry", delayMs: 0, reason: "r", stack: null } as const;
  const nacked = await costOf(() => backend.exchange(settling(acks(grants).map((one) => ({ ...one, outcome: retry })))));
  expect(nacked.length).toBeLessThanOrEqual(6);
  const commands = await costOf(() => backend.exchange(fetching(20)));
  expect(commands.length).toBeLessThanOrEqual(10);
});
