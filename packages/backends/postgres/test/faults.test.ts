/** What goes wrong between a process and its server (F7), and what must be true after. */
import type { Backend, Grant } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import {
  ackOf,
  acks,
  drain,
  event,
  fetching,
  fill,
  GROUP,
  insist,
  openBackend,
  request,
  STREAM,
  settling,
} from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ deadlock_timeout: "50ms", max_connections: "40" });
afterAll(() => server.stop());

let schemas = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (options: object = {}): Promise<{ backend: Backend; schema: string }> => {
  const schema = `f${++schemas}`;
  const backend = await openBackend({ url: server.url, schema, connectTimeoutMs: 3_000, ...options });
  opened.push(backend);
  return { backend, schema };
};

const admin = (text: string): Promise<pg.QueryResult> => once(server.url, (client) => client.query(text));
const terminateAll = (): Promise<unknown> =>
  admin(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );

const codeOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "fine";
  } catch (error) {
    if (!RheoError.is(error)) throw error;
    return error.code;
  }
};

/** Appends with ids, and drains, while something goes wrong; then everything must be there once, and acked. */
const work = async (backend: Backend, count: number): Promise<{ unknown: number; unavailable: number }> => {
  const seen = { unknown: 0, unavailable: 0 };
  const tried = async <Result>(call: () => Promise<Result>): Promise<Result> =>
    insist(async () => {
      try {
        return await call();
      } catch (error) {
        if (RheoError.is(error, "outcome_unknown")) seen.unknown += 1;
        if (RheoError.is(error, "unavailable")) seen.unavailable += 1;
        throw error;
      }
    });
  const appending = async (): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const one = { stream: STREAM, partitions: 1, events: [event({ n })] };
      const [answer] = await tried(() => backend.append([one]));
      expect(answer?.kind).toBe("appended");
    }
  };
  const settled = new Map<number, number>();
  const draining = async (): Promise<void> => {
    for (const endMs = performance.now() + 60_000; settled.size < count && performance.now() < endMs; ) {
      const { grants } = await tried(() => backend.exchange(fetching(7)));
      for (const settlement of acks(grants)) {
        const answer = await tried(() => backend.exchange(settling([settlement])));
        for (const [index, result] of (answer.settled[0] ?? []).entries()) {
          const sequence = settlement.sequences[index] ?? 0;
          // "settled" is the answer to a repeated ack whose first answer was lost
          if (result.state === "acked" || result.why === "settled") settled.set(sequence, (settled.get(sequence) ?? 0) + 1);
        }
      }
      if (grants.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all([appending(), draining()]);
  expect([...settled.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n + 1));
  expect(await insist(() => backend.progress(STREAM, GROUP))).toMatchObject([{ frontier: count, highWatermark: count }]);
  return seen;
};

describe("faults", () => {
  test("connections ended at any statement lose nothing, and the process lives", { timeout: 120_000 }, async () => {
    const { backend } = await open();
    await fill(backend, 0, { leaseMs: 500 });
    let stop = false;
    const chaos = (async () => {
      while (!stop) {
        await terminateAll();
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
    })();
    const seen = await work(backend, 300);
    stop = true;
    await chaos;
    expect(seen.unknown).toBeGreaterThan(0);
  });

  test("a server killed with SIGKILL and started again loses nothing that was acknowledged", { timeout: 120_000 }, async () => {
    const { backend } = await open();
    await fill(backend, 0, { leaseMs: 1_000 });
    const chaos = (async () => {
      for (let kill = 0; kill < 3; kill++) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        await server.kill();
        await server.restart();
      }
    })();
    await work(backend, 400);
    await chaos;
  });

  test("a statement_timeout and a lock_timeout are unavailable, with advice, and nothing was applied", async () => {
    for (const [name, advice] of [
      ["statement_timeout", /statement_timeout/],
      ["lock_timeout", /lock was not to be had/],
    ] as const) {
      const { backend, schema } = await open({ url: `${server.url}?options=-c%20${name}%3D100` });
      await fill(backend, 3);
      await once(server.url, async (client) => {
        await client.query(`BEGIN; SELECT FROM "${schema}".partitions FOR UPDATE`);
        const failing = backend.append([request(1)]);
        await expect(failing).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(advice) });
        await client.query("ROLLBACK");
      });
      expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 3 }]);
      expect(await drain(backend, 10)).toBe(3);
    }
  });

  test("a deadlock is tried again where nothing was applied", async () => {
    const { backend, schema } = await open();
    await backend.createStream(STREAM, 2);
    await once(server.url, async (client) => {
      await client.query(`BEGIN; SELECT FROM "${schema}".partitions WHERE partition = 1 FOR UPDATE`);
      const appending = backend.append([request(4, 2)]);
      await new Promise((resolve) => setTimeout(resolve, 30));
      // each now waits for the other; the server ends one of them
      const crossing = client.query(`SELECT FROM "${schema}".partitions WHERE partition = 0 FOR UPDATE`).then(
        () => client.query("COMMIT"),
        () => client.query("ROLLBACK"),
      );
      await crossing;
      expect(await appending).toMatchObject([{ kind: "appended" }]);
    });
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([2, 2]);
  });

  test("members that settle and fetch over many partitions at once do not stop one another", { timeout: 60_000 }, async () => {
    const { backend } = await open();
    await backend.createStream(STREAM, 8);
    await fill(backend, 0);
    await backend.append([request(2_000, 8)]);
    const members = Array.from({ length: 6 }, (_, n) => `m${n}`);
    let count = 0;
    const run = async (consumerId: string): Promise<void> => {
      let grants: readonly Grant[] = [];
      for (let idle = 0; idle < 3; ) {
        const answer = await backend.exchange(fetching(20, acks([...grants].reverse()), consumerId));
        expect(answer.settled.flat().every(({ state }) => state === "acked")).toBe(true);
        grants = answer.grants;
        count += grants.reduce((sum, { events }) => sum + events.length, 0);
        idle = grants.length === 0 ? idle + 1 : 0;
      }
    };
    await Promise.all(members.map(run));
    expect(count).toBe(2_000);
    expect((await backend.progress(STREAM, GROUP)).every(({ frontier, highWatermark }) => frontier === highWatermark)).toBe(true);
  });

  test("a pool that is used up is unavailable within the limit, and serves again", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    pool.on("error", () => undefined); // the server ends connections when it stops
    const { backend } = await open({ url: undefined, pool, connectTimeoutMs: 100, notify: false });
    await fill(backend, 1);
    const client = await pool.connect();
    const startMs = performance.now();
    await expect(backend.ping()).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("no connection"),
    });
    expect(performance.now() - startMs).toBeLessThan(2_000);
    client.release();
    await backend.ping();
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    await opened.pop()?.close();
    await pool.end();
  });

  test("many backends that share a pool listen once to each of its connections", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    pool.on("error", () => undefined); // the server ends connections when it stops
    for (let n = 0; n < 5; n++) {
      const { backend } = await open({ url: undefined, pool, notify: false });
      await backend.ping();
      await backend.close();
    }
    const client = await pool.connect();
    client.release();
    const before = client.listenerCount("error");
    const { backend } = await open({ url: undefined, pool, notify: false });
    await backend.ping();
    await backend.close();
    expect(client.listenerCount("error")).toBe(before);
    expect(before).toBe(2); // the pool's, and ours
    await pool.end();
  });

  test("a server without connections left is unavailable", async () => {
    const clients: pg.Client[] = [];
    try {
      for (;;) {
        const client = new pg.Client({ connectionString: server.url });
        client.on("error", () => undefined);
        await client.connect();
        clients.push(client);
      }
    } catch {
      // 53300
    }
    expect(await codeOf(openBackend({ url: server.url, schema: "none-left" }))).toBe("unavailable");
    for (const client of clients) await client.end();
  });

  test("a server that only reads is unavailable for writes, and reads go on", async () => {
    const { backend, schema } = await open({ notify: false });
    await fill(backend, 2);
    await backend.close();
    const reading = await openBackend({
      url: `${server.url}?options=-c%20default_transaction_read_only%3Don`,
      schema,
      notify: false,
    });
    opened.push(reading);
    await expect(reading.append([request(1)])).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("only reads"),
    });
    await expect(reading.exchange(fetching(1))).rejects.toMatchObject({ code: "unavailable" });
    expect(await reading.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
  });

  test("an answer that does not come is not waited for for ever, and its connection is given up", async () => {
    const { backend, schema } = await open({ statementTimeoutMs: 150, notify: false });
    await fill(backend, 1);
    await once(server.url, async (client) => {
      await client.query(`BEGIN; SELECT FROM "${schema}".partitions FOR UPDATE`);
      const one = [{ stream: STREAM, partitions: 1, events: [event({ late: true })] }];
      expect(await codeOf(backend.append(one))).toBe("outcome_unknown");
      await client.query("ROLLBACK");
      const [answer] = await insist(() => backend.append(one));
      expect(answer).toMatchObject({ kind: "appended", events: [{ sequence: 2 }] });
    });
  });

  test("a schema that was dropped is unavailable, and says how to get it back", async () => {
    const { backend, schema } = await open({ notify: false });
    await fill(backend, 1);
    await admin(`DROP SCHEMA "${schema}" CASCADE`);
    await expect(backend.exchange(fetching(1))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("migrate"),
    });
  });

  test("a server that is not there is unavailable, and a closed backend is closed", async () => {
    expect(await codeOf(openBackend({ url: "postgres://postgres@127.0.0.1:1/postgres" }))).toBe("unavailable");
    expect(await codeOf(openBackend({ url: server.url.replace(/postgres$/, "nowhere") }))).toBe("unavailable");
    const { backend } = await open();
    await backend.close();
    for (const call of [backend.ping(), backend.exchange(settling([ackOf(undefined, 1)])), backend.append([request(1)])])
      expect(await codeOf(call)).toBe("closed");
  });
});
