import type { Backend } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import type pg from "pg";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { ackOf, fetching, fill, openBackend, request, STREAM, settling, untilHearing, watch } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

const WAIT_MS = 5_000;
let schemas = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (options: { schema?: string; notify?: boolean } = {}): Promise<{ backend: Backend; schema: string }> => {
  const schema = options.schema ?? `w${++schemas}`;
  const backend = await openBackend({
    url: server.url,
    schema,
    ...(options.notify === undefined ? {} : { notify: options.notify }),
  });
  opened.push(backend);
  return { backend, schema };
};

const listening = (schema: string): Promise<number[]> =>
  once(server.url, async (client) =>
    (await client.query("SELECT pid FROM pg_stat_activity WHERE query = $1", [`LISTEN "${schema}"`])).rows.map(
      (row: { pid: number }) => row.pid,
    ),
  );

/** Waits until a backend listens. */
const untilListening = async (schema: string, except: readonly number[] = []): Promise<number[]> => {
  for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; ) {
    const pids = (await listening(schema)).filter((pid) => !except.includes(pid));
    if (pids.length > 0) return pids;
  }
  throw new Error("nobody listens");
};

const notifications = async <Result>(schema: string, work: () => Promise<Result>): Promise<string[]> =>
  once(server.url, async (client: pg.Client) => {
    const heard: string[] = [];
    client.on("notification", ({ payload }) => heard.push(payload ?? ""));
    await client.query(`LISTEN "${schema}"`);
    await work();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await client.query("SELECT 1");
    return heard;
  });

describe("wake-ups", () => {
  test("an append wakes listeners of its own process, and those of another with the stream or with any", async () => {
    const { backend, schema } = await open();
    const { backend: other } = await open({ schema });
    await untilListening(schema);
    await fill(backend, 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const here = watch(backend);
    const there = watch(other);
    const woken = Promise.all([here.next(), there.next()]);
    await backend.append([request(1)]);
    expect(await woken).toEqual([STREAM, null]);
    await other.append([request(1)]);
    const again = there.next();
    await backend.append([request(1)]);
    expect(await again).toBe(STREAM);
  });

  test("a thousand appends are few notifications, with ids only", async () => {
    const { backend, schema } = await open();
    await fill(backend, 0);
    await untilHearing(backend); // by an echo, which names nothing
    const heard = await notifications(schema, async () => {
      const startMs = performance.now();
      for (let n = 0; n < 250; n++) await Promise.all([1, 2, 3, 4].map(() => backend.append([request(1)])));
      expect(performance.now() - startMs).toBeLessThan(60_000);
    });
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.length).toBeLessThan(500);
    for (const payload of heard) expect(payload).toMatch(/^[0-9a-f]{12}:\d+(,\d+)*$/);
  });

  test("what a user's transaction appended or settled is told of once it has committed, and not when it was rolled back", async () => {
    const { backend } = await open();
    await fill(backend, 0);
    for (const how of ["ROLLBACK", "COMMIT"]) {
      await once(server.url, async (client) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        const { streams, next } = watch(backend);
        await client.query("BEGIN");
        await backend.append([request(1)], client);
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(streams).toEqual([]);
        const woken = next();
        woken.catch(() => undefined);
        await client.query(how);
        if (how === "COMMIT") expect(await woken).toBe(STREAM);
        else {
          await new Promise((resolve) => setTimeout(resolve, 500));
          expect(streams).toEqual([]);
        }
      });
    }
  });

  test("a retry and a release wake, an ack does not", async () => {
    const { backend } = await open();
    await fill(backend, 3);
    const { grants } = await backend.exchange(fetching(3));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { streams } = watch(backend);
    await backend.exchange(settling([ackOf(grants[0], 1)]));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(streams).toEqual([]);
    await backend.exchange(settling([{ ...ackOf(grants[0], 2), outcome: { kind: "release" } }]));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(streams).toEqual([STREAM]);
  });

  test("a listener whose connection is ended listens again, and wakes once when it ends and once when it does", async () => {
    const { backend, schema } = await open();
    await fill(backend, 0);
    const before = await untilListening(schema);
    await untilHearing(backend);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { next, streams } = watch(backend);
    const woken = next();
    await once(server.url, (client) => client.query("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid", [before]));
    expect(await woken).toBeNull();
    expect(backend.hearsAll?.()).toBe(false);
    const { backend: other } = await open({ schema });
    await untilListening(schema, before);
    await untilHearing(backend);
    expect(streams).toEqual([null, null]);
    const again = next();
    await other.append([request(1)]);
    await again;
  });

  test("with notify off nobody listens, nobody is notified, and the own process is still woken", async () => {
    const { backend, schema } = await open({ notify: false });
    expect(backend.capabilities.wakeups).toBe("process");
    expect(backend.hearsAll?.()).toBe(false);
    await fill(backend, 0);
    const { next } = watch(backend);
    const heard = await notifications(schema, async () => {
      const woken = next();
      await backend.append([request(1)]);
      expect(await woken).toBe(STREAM);
    });
    expect(heard).toEqual([]);
  });

  test("closing ends the connection that listens", async () => {
    const { backend, schema } = await open();
    await untilListening(schema);
    await backend.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await listening(schema)).toEqual([]);
  });
});
