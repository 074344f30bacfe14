/** Costs that do not depend on the machine: commands, round trips, keys, memory, bytes of the append-only file. */
import type { Backend } from "@rheo/core";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { acks, drain, fetching, fill, openBackend, request, sequencesOf, settling } from "./fixtures/scene.ts";

const server = await startRedis({
  settings: { appendonly: "yes", appendfsync: "no", "auto-aof-rewrite-percentage": "0", activedefrag: "no" },
});
afterAll(() => server.stop());

const admin = (...words: string[]): Promise<string> => redisCommand(server.port, ...words);
let backend: Backend;
let prefixes = 0;
afterEach(async () => {
  await backend.close();
  await admin("FLUSHALL", "SYNC");
});
const open = async (): Promise<string> => {
  const prefix = `c${++prefixes}`;
  backend = await openBackend({ url: server.url, prefix, notify: false });
  return prefix;
};

interface Counts {
  /** EVALSHA and EVAL: each is a round trip. */
  readonly scripts: number;
  /** All commands, those inside scripts as well. */
  readonly commands: number;
  /** Of the append-only file. */
  readonly bytes: number;
}

const look = async (): Promise<Counts> => {
  const stats = await admin("INFO", "commandstats");
  let scripts = 0;
  let commands = 0;
  for (const [, name = "", calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    if (/^eval/.test(name)) scripts += Number(calls);
    else if (!/^(info|config|hello|client|memory|auth)/.test(name)) commands += Number(calls);
  }
  const bytes = Number(/aof_current_size:(\d+)/.exec(await admin("INFO", "persistence"))?.[1]);
  return { scripts, commands, bytes };
};

const costOf = async (work: () => Promise<unknown>): Promise<Counts> => {
  const before = await look();
  await work();
  const after = await look();
  return {
    scripts: after.scripts - before.scripts,
    commands: after.commands - before.commands,
    bytes: after.bytes - before.bytes,
  };
};

/** Bytes that the keys use, by MEMORY USAGE of every element. */
const memoryOf = async (pattern: RegExp): Promise<number> => {
  let sum = 0;
  for (const key of await keys()) if (pattern.test(key)) sum += Number(await admin("MEMORY", "USAGE", key, "SAMPLES", "0"));
  return sum;
};
const keys = async (): Promise<string[]> =>
  [...(await admin("KEYS", "*")).matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, key = ""]) => key);

const CONTENT = { customer: "c-1", note: "x".repeat(200) };
const EVENTS = 20_000;

describe("costs", () => {
  test("a delivered and acked event costs at most 0.03 round trips, at 100 per fetch; a batch one", async () => {
    await open();
    await fill(backend, EVENTS);
    await drain(backend, 100, 1_000);
    const events = EVENTS - 1_000;
    const { scripts, commands, bytes } = await costOf(() => drain(backend, 100));
    console.log(
      `per event: ${(scripts / events).toFixed(4)} round trips, ${(commands / events).toFixed(3)} commands inside, ${(bytes / events).toFixed(2)} bytes of log; per batch: ${(scripts / (events / 100)).toFixed(2)} round trips`,
    );
    expect(scripts / events).toBeLessThanOrEqual(0.03);
    expect(scripts / (events / 100)).toBeLessThanOrEqual(1.02);
    expect(commands / events).toBeLessThanOrEqual(0.3);
    expect(bytes / events).toBeLessThanOrEqual(15);
  });

  test("an append is one round trip, however many events", async () => {
    await open();
    await fill(backend, 10);
    const bulk = await costOf(() => backend.append([request(1_000, 1, CONTENT)]));
    const single = await costOf(async () => {
      for (let n = 0; n < 200; n++) await backend.append([request(1, 1, CONTENT)]);
    });
    console.log(`commands per appended event: ${bulk.commands / 1_000} in bulk, ${single.commands / 200} one by one`);
    expect([bulk.scripts, single.scripts]).toEqual([1, 200]);
    expect(bulk.commands / 1_000).toBeLessThanOrEqual(2);
    expect(single.commands / 200).toBeLessThanOrEqual(12);
  });

  test("an idle group writes nothing, and asks once per fetch", async () => {
    await open();
    await fill(backend, 100);
    await drain(backend, 100);
    expect((await backend.exchange(fetching(10))).grants).toEqual([]);
    const { bytes, scripts } = await costOf(async () => {
      for (let n = 0; n < 200; n++) await backend.exchange(fetching(10));
    });
    expect([bytes, scripts]).toEqual([0, 200]);
  });

  test("nothing is left of acked events but the events: no key, and no more memory per group", async () => {
    await open();
    await fill(backend, 1_000);
    await drain(backend, 100);
    const keysBefore = (await keys()).sort();
    const groupBefore = await memoryOf(/:g:/);
    await backend.append([request(5_000)]);
    await drain(backend, 100);
    expect((await keys()).sort()).toEqual(keysBefore);
    expect(await memoryOf(/:g:/)).toBeLessThanOrEqual(groupBefore + 64);
    let settlements = acks((await backend.exchange(fetching(100))).grants);
    expect(settlements).toEqual([]);
    await backend.append([request(300)]);
    for (let n = 0; n < 3; n++) {
      const { grants } = await backend.exchange(fetching(100, settlements));
      expect(sequencesOf(grants)).toHaveLength(100);
      settlements = acks(grants);
    }
    await backend.exchange(settling(settlements));
    expect((await keys()).sort()).toEqual(keysBefore);
  });

  test("an event of 240 bytes takes so much memory, a group takes so little", async () => {
    await open();
    await fill(backend, 10_000);
    await drain(backend, 1_000);
    const empty = await memoryOf(/:(head|log)$|\/ids\//);
    for (let n = 0; n < 10; n++) await backend.append([request(1_000, 1, CONTENT)]);
    const log = await memoryOf(/:log$/);
    const ids = await memoryOf(/\/ids\//);
    const perEvent = ((await memoryOf(/:(head|log)$|\/ids\//)) - empty) / 10_000;
    const group = await memoryOf(/:g:/);
    const bytes = JSON.stringify(CONTENT).length;
    console.log(
      `memory per event of ${bytes} bytes: ${perEvent.toFixed(0)} bytes (all of the log ${log}, ids ${ids}); a drained group: ${group} bytes`,
    );
    expect(perEvent).toBeLessThanOrEqual(bytes + 350);
    expect(group).toBeLessThanOrEqual(2_000);
  });

  test("a fetch costs as many commands with 100,000 events of backlog and of history as with 1,000", {
    timeout: 120_000,
  }, async () => {
    await open();
    await fill(backend, 1_000);
    const cost = async (): Promise<number> => {
      const { commands } = await costOf(async () => {
        const { grants } = await backend.exchange(fetching(10));
        await backend.exchange(settling(acks(grants)));
      });
      return commands;
    };
    await cost();
    const few = await cost();
    for (let n = 0; n < 20; n++) await backend.append([request(5_000)]);
    const backlog = await cost();
    await drain(backend, 1_000, 99_000);
    const history = await cost();
    console.log(
      `commands of a fetch of 10 and its acks: ${few} of 1,000 events, ${backlog} before a backlog of 100,000, ${history} after as much history`,
    );
    expect(backlog).toBeLessThanOrEqual(few + 2);
    expect(history).toBeLessThanOrEqual(few + 2);
  });
});
