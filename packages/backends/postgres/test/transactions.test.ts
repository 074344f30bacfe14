/** Settling and appending inside transactions of the user's, as raw pg, kysely, drizzle, knex and postgres.js have them (T8). */
import type { Backend, Grant } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgresJs from "postgres";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  ackOf,
  acks,
  drain,
  fetching,
  fill,
  GROUP,
  openBackend,
  request,
  STREAM,
  sequencesOf,
  settling,
} from "./fixtures/scene.ts";

const server = await startPostgres({ fsync: "off", deadlock_timeout: "100ms" });
const pool = new pg.Pool({ connectionString: server.url, max: 8 });
pool.on("error", () => undefined);
const builder = knex({ client: "pg", connection: server.url });
const sqlTag = postgresJs(server.url, { onnotice: () => undefined });
let backend: Backend;
let schemas = 0;

beforeEach(async () => {
  await backend?.close();
  backend = await openBackend({ url: server.url, schema: `t${++schemas}`, notify: false, statementTimeoutMs: 10_000 });
  await pool.query("CREATE TABLE IF NOT EXISTS notes (text text); TRUNCATE notes");
});
afterAll(async () => {
  await backend.close();
  await builder.destroy();
  await sqlTag.end();
  await pool.end();
  await server.stop();
});

const notes = async (): Promise<number> => (await pool.query("SELECT count(*)::int AS count FROM notes")).rows[0]?.count;
const frontier = async (): Promise<number> => (await backend.progress(STREAM, GROUP))[0]?.frontier ?? -1;
const grantOf = async (limit: number, options: { leaseMs?: number } = {}): Promise<Grant> => {
  const { grants } = await backend.exchange({
    ...fetching(limit),
    fetch: { limit, maxBytes: 1e6, consumerId: "a", leaseMs: options.leaseMs ?? null, partitions: null, runLimit: 1 },
  });
  const [grant] = grants;
  if (grant === undefined) throw new Error("nothing was granted");
  return grant;
};

/** Runs work in a transaction of a library's; what `work` throws rolls it back. */
type Within = (work: (transaction: unknown, note: () => Promise<unknown>) => Promise<void>) => Promise<void>;

const kysely = new Kysely<{ notes: { text: string } }>({
  dialect: new PostgresDialect({ pool }),
  plugins: [new CamelCasePlugin()],
});
const LIBRARIES: readonly (readonly [name: string, within: Within])[] = [
  [
    "raw pg",
    async (work) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        await work(client, () => client.query("INSERT INTO notes VALUES ('x')"));
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
  ],
  [
    "kysely",
    (work) => kysely.transaction().execute((trx) => work(trx, () => trx.insertInto("notes").values({ text: "x" }).execute())),
  ],
  ["knex", (work) => builder.transaction((trx) => work(trx, () => trx("notes").insert({ text: "x" })))],
  [
    "postgres.js",
    async (work) => {
      await sqlTag.begin((tx) => work(tx, async () => await tx`INSERT INTO notes VALUES ('x')`));
    },
  ],
  ["drizzle", (work) => drizzle(pool).transaction((tx) => work(tx, () => tx.execute(sql`INSERT INTO notes VALUES ('x')`)))],
];

class Undo extends Error {}

describe.each(LIBRARIES)("a transaction of %s", (_, within) => {
  test("settles and appends with the user's own writes", async () => {
    await fill(backend, 3);
    const grant = await grantOf(3);
    await within(async (transaction, note) => {
      await note();
      const { settled } = await backend.exchange(settling(acks([grant]), transaction));
      expect(settled).toEqual([[{ state: "acked" }, { state: "acked" }, { state: "acked" }]]);
      expect(await backend.append([request(2)], transaction)).toMatchObject([
        { kind: "appended", events: [{ sequence: 4 }, { sequence: 5 }] },
      ]);
      expect(await frontier()).toBe(0);
    });
    expect([await frontier(), await notes()]).toEqual([3, 1]);
    expect(await drain(backend, 10)).toBe(2);
  });

  test("undoes them together", async () => {
    await fill(backend, 3);
    const grant = await grantOf(3);
    const undone = within(async (transaction, note) => {
      await note();
      await backend.exchange(settling(acks([grant]), transaction));
      await backend.append([request(2)], transaction);
      throw new Undo();
    });
    await expect(undone).rejects.toThrow(Undo);
    expect([await frontier(), await notes()]).toEqual([0, 0]);
    expect((await backend.exchange(settling(acks([grant])))).settled).toEqual([
      [{ state: "acked" }, { state: "acked" }, { state: "acked" }],
    ]);
    expect((await backend.append([request(1)]))[0]).toMatchObject({ kind: "appended", events: [{ sequence: 4 }] });
  });
});

/** A transaction that is open until told to end. */
const open = async (
  isolation = "READ COMMITTED",
): Promise<{ client: pg.PoolClient; end: (how: "COMMIT" | "ROLLBACK") => Promise<void> }> => {
  const client = await pool.connect();
  await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
  return {
    client,
    end: async (how) => {
      await client.query(how);
      client.release();
    },
  };
};

describe("while a user's transaction is open", () => {
  test("neighbours of the same range are settled, nacked, renewed and looked at", async () => {
    await fill(backend, 10);
    const grant = await grantOf(10);
    const { client, end } = await open();
    await backend.exchange(settling([ackOf(grant, 5)], client));
    const { partition, token } = grant;
    expect((await backend.exchange(settling([ackOf(grant, 1), ackOf(grant, 2)]))).settled).toEqual([
      [{ state: "acked" }],
      [{ state: "acked" }],
    ]);
    expect(await frontier()).toBe(2);
    const retry = { partition, token, sequences: [3], outcome: { kind: "retry", delayMs: 0, reason: "r", stack: null } } as const;
    expect((await backend.exchange(settling([retry]))).settled).toEqual([[{ state: "retrying" }]]);
    const renewed = await backend.renew({
      stream: STREAM,
      group: GROUP,
      consumerId: "a",
      leaseMs: 60_000,
      items: [{ partition, token, sequences: [4, 5, 6] }],
    });
    expect(renewed.stale).toEqual([[null, null, null]]);
    expect(
      (await backend.exchange(settling([{ partition, token, sequences: [4, 6, 7, 8, 9, 10], outcome: { kind: "ack" } }])))
        .settled,
    ).toEqual([new Array(6).fill({ state: "acked" })]);
    expect(sequencesOf((await backend.exchange(fetching(10))).grants)).toEqual([3]);
    await end("COMMIT");
    expect(await backend.leases(STREAM, GROUP, 10)).toMatchObject([{ sequence: 3 }]);
    expect((await backend.exchange(settling([ackOf(grant, 5)]))).settled).toEqual([[{ state: "stale", why: "settled" }]]);
  });

  test.each(["COMMIT", "ROLLBACK"] as const)(
    "a takeover passes over its lease; after %s what is open is claimed once",
    async (how) => {
      await fill(backend, 4);
      const grant = await grantOf(4, { leaseMs: 30 });
      const { client, end } = await open();
      await backend.exchange(settling([ackOf(grant, 2)], client));
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect((await backend.exchange(fetching(10, [], "b"))).grants).toEqual([]);
      await end(how);
      const { grants } = await backend.exchange(fetching(10, [], "b"));
      expect(sequencesOf(grants)).toEqual(how === "COMMIT" ? [1, 3, 4] : [1, 2, 3, 4]);
      await backend.exchange(settling(acks(grants)));
      expect(await frontier()).toBe(4);
    },
  );

  test("a takeover that came first makes its ack stale", async () => {
    await fill(backend, 2);
    const grant = await grantOf(2, { leaseMs: 20 });
    const { client, end } = await open();
    await client.query("SELECT 1");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sequencesOf((await backend.exchange(fetching(10, [], "b"))).grants)).toEqual([1, 2]);
    expect((await backend.exchange(settling([ackOf(grant, 1)], client))).settled).toEqual([
      [{ state: "stale", why: "reclaimed" }],
    ]);
    await end("COMMIT");
  });

  test.each(["COMMIT", "ROLLBACK"] as const)(
    "a second settle of the same delivery waits for %s, and exactly one counts",
    async (how) => {
      await fill(backend, 3);
      const grant = await grantOf(3);
      const { client, end } = await open();
      await backend.exchange(settling([ackOf(grant, 2)], client));
      const second = backend.exchange(settling([ackOf(grant, 2)]));
      await new Promise((resolve) => setTimeout(resolve, 50));
      await end(how);
      expect((await second).settled).toEqual([[how === "COMMIT" ? { state: "stale", why: "settled" } : { state: "acked" }]]);
      expect((await backend.exchange(settling([ackOf(grant, 1), ackOf(grant, 3)]))).settled).toEqual([
        [{ state: "acked" }],
        [{ state: "acked" }],
      ]);
      expect(await frontier()).toBe(3);
    },
  );

  test("two transactions settle the same delivery: the second waits, and exactly one counts", async () => {
    await fill(backend, 2);
    const grant = await grantOf(2);
    const first = await open();
    const second = await open();
    await backend.exchange(settling([ackOf(grant, 1)], first.client));
    const waiting = backend.exchange(settling([ackOf(grant, 1)], second.client));
    await first.end("COMMIT");
    expect((await waiting).settled).toEqual([[{ state: "stale", why: "settled" }]]);
    await second.end("COMMIT");
    expect(await frontier()).toBe(1);
  });

  test("a delivery that is leased by itself is renewed beside it, and passed over by others", async () => {
    await fill(backend, 1);
    const grant = await grantOf(1);
    await backend.exchange(settling([{ ...ackOf(grant, 1), outcome: { kind: "retry", delayMs: 0, reason: "r", stack: null } }]));
    const again = await grantOf(1, { leaseMs: 30 });
    const { client, end } = await open();
    expect((await backend.exchange(settling([ackOf(again, 1)], client))).settled).toEqual([[{ state: "acked" }]]);
    const items = [{ partition: 0, token: again.token, sequences: [1] }];
    expect((await backend.renew({ stream: STREAM, group: GROUP, consumerId: "a", leaseMs: null, items })).stale).toEqual([
      [null],
    ]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await backend.exchange(fetching(5, [], "b"))).grants).toEqual([]);
    await end("COMMIT");
    expect(await frontier()).toBe(1);
  });

  test("replay and reset wait for it, and then it has settled, or its lease is stale", async () => {
    await fill(backend, 3);
    const grant = await grantOf(3);
    const { client, end } = await open();
    await backend.exchange(settling([ackOf(grant, 1)], client));
    const replaying = backend.replay({
      stream: STREAM,
      group: GROUP,
      scope: { kind: "after", after: 0 },
      partitions: null,
      dryRun: false,
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await end("COMMIT");
    expect(await replaying).toBe(3);
    expect((await backend.exchange(settling([ackOf(grant, 2)]))).settled).toEqual([[{ state: "stale", why: "reset" }]]);
    expect(await drain(backend, 10)).toBe(3);
  });

  test("a group whose only place was settled in a transaction is given the next (G8)", async () => {
    await fill(backend, 2);
    await backend.updateGroup(STREAM, GROUP, {
      options: {
        maxAttempts: 5,
        leaseMs: 30_000,
        retry: { minMs: 1, maxMs: 1, factor: 1, jitter: 0 },
        ordering: "none",
        filter: null,
        maxInflight: 1,
      },
    });
    const grant = await grantOf(5);
    const { client, end } = await open();
    await backend.exchange(settling([ackOf(grant, 1)], client));
    expect((await backend.exchange(fetching(5))).grants).toEqual([]);
    await end("COMMIT");
    expect(sequencesOf((await backend.exchange(fetching(5))).grants)).toEqual([2]);
  });

  test("of one that sees an old snapshot the server says so, and nothing is doubled", async () => {
    await fill(backend, 2);
    const { client, end } = await open("REPEATABLE READ");
    await client.query("SELECT 1 FROM notes");
    await backend.append([request(3)]);
    await expect(backend.append([request(1)], client)).rejects.toMatchObject({ code: "40001" });
    await end("ROLLBACK");
    expect(await drain(backend, 10)).toBe(5);
  });
});

describe("what is no transaction", () => {
  test("is refused", async () => {
    await fill(backend, 1);
    for (const bad of [{}, null, 7, "BEGIN", () => 1, kysely, pool, drizzle(pool), builder, sqlTag]) {
      await expect(backend.append([request(1)], bad)).rejects.toMatchObject({ code: "invalid_option" });
    }
    expect(await backend.watermarks(STREAM)).toEqual([{ partition: 0, firstSequence: 1, highWatermark: 1 }]);
  });
});
