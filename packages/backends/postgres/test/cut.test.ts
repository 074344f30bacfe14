/** A connection cut between a request and its answer, when the server has carried it out and when it never heard of it (F7). */
import type { Backend, SettleOutcome } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { type Loss, startPostgres, startProxy } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { ackOf, acks, drain, event, fetching, fill, GROUP, openBackend, REAL_TIME, STREAM, settling } from "./fixtures/scene.ts";

const server = await startPostgres({ fsync: "off" });
/** `ReadyForQuery` outside a transaction: what was sent has been committed or undone. PostgreSQL manual, 54.7. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const proxy = await startProxy(server.port, { isAnswer: (chunk) => chunk.subarray(-READY.length).equals(READY) });
const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
let backend: Backend;
let schemas = 0;

beforeEach(async () => {
  await backend?.close();
  backend = await openBackend({ url, schema: `cut${++schemas}`, notify: false });
});
afterAll(async () => {
  await backend.close();
  await proxy.stop();
  await server.stop();
});

const LOSSES: readonly Loss[] = ["answer", "request"];
const UNKNOWN = { code: "outcome_unknown" };

describe.each(LOSSES)("when the %s is lost", (loss) => {
  test("an append is outcome_unknown, and repeated under its id it is stored once", async () => {
    await fill(backend, 2);
    const one = [{ stream: STREAM, partitions: 1, events: [event({ n: 1 }), event({ n: 2 })] }];
    const lost = proxy.lose(loss, ".append(");
    await expect(backend.append(one)).rejects.toMatchObject(UNKNOWN);
    await lost;
    const stored = loss === "answer" ? 4 : 2;
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: stored }]);
    expect(await backend.append(one)).toMatchObject([{ kind: "appended", events: [{ sequence: 3 }, { sequence: 4 }] }]);
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 4 }]);
    expect(await drain(backend, 10)).toBe(4);
  });

  const outcomes: readonly SettleOutcome[] = [
    { kind: "ack" },
    { kind: "retry", delayMs: 60_000, reason: "r", stack: null },
    { kind: "reject", reason: "r", stack: null },
    { kind: "release" },
  ];
  test.each(outcomes)(
    "a settle ($kind) is outcome_unknown, and repeated it is stale_lease/settled if it had worked",
    async (outcome) => {
      await fill(backend, 3);
      const { grants } = await backend.exchange(fetching(3));
      const settlement = { ...ackOf(grants[0], 2), outcome };
      const lost = proxy.lose(loss, ".settle_and_fetch(");
      await expect(backend.exchange(settling([settlement]))).rejects.toMatchObject(UNKNOWN);
      await lost;
      const { settled } = await backend.exchange(settling([settlement]));
      if (loss === "answer") expect(settled).toEqual([[{ state: "stale", why: "settled" }]]);
      else expect(settled[0]?.[0]?.state).not.toBe("stale");
      expect((await backend.exchange(settling([ackOf(grants[0], 1), ackOf(grants[0], 3)]))).settled.flat()).toEqual([
        { state: "acked" },
        { state: "acked" },
      ]);
    },
  );

  test("what a fetch was given and never heard of is given again when its lease runs out", async () => {
    await fill(backend, 3, { leaseMs: 100 });
    const lost = proxy.lose(loss, ".settle_and_fetch(");
    await expect(backend.exchange(fetching(3))).rejects.toMatchObject(UNKNOWN);
    await lost;
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { grants } = await backend.exchange(fetching(3, [], "b"));
    expect(grants).toMatchObject([{ attempt: loss === "answer" ? 2 : 1, events: [{}, {}, {}] }]);
    await backend.exchange(settling(acks(grants)));
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 3 }]);
  });

  test("a read is asked again, and nobody notices", async () => {
    await fill(backend, 2);
    const lost = proxy.lose(loss, "SELECT");
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
    await lost;
  });

  test("a migration whose COMMIT is cut is outcome_unknown, and opening again finds or makes the schema", async () => {
    const options = { url, schema: `migrated-${loss}`, notify: false };
    const lost = proxy.lose(loss, "COMMIT");
    await expect(postgres(options).open(REAL_TIME)).rejects.toMatchObject(UNKNOWN);
    await lost;
    const again = postgres(options);
    await again.open({ clock: null, migrate: loss === "request" });
    expect((await again.createStream("t", 1)).created).toBe(true);
    await again.close();
  });

  test("a user's transaction whose COMMIT is cut can be repeated, and its effects are there once", async () => {
    await fill(backend, 1);
    const table = `effects_${loss}`;
    const { grants } = await backend.exchange(fetching(1));
    const result = [{ stream: STREAM, partitions: 1, events: [event({ result: 1 })] }];
    const attempt = async (): Promise<boolean> => {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => undefined);
      await client.connect();
      try {
        await client.query(`BEGIN; CREATE TABLE IF NOT EXISTS ${table} (n int)`);
        const { settled } = await backend.exchange(settling(acks(grants), client));
        if (settled[0]?.[0]?.state !== "acked") return false;
        await client.query(`INSERT INTO ${table} VALUES (1)`);
        await backend.append(result, client);
        await client.query("COMMIT");
        return true;
      } finally {
        await client.end().catch(() => undefined);
      }
    };
    const lost = proxy.lose(loss, "COMMIT");
    await expect(attempt()).rejects.toThrow(/Connection terminated|ECONNRESET/);
    await lost;
    expect(await attempt()).toBe(loss === "request");
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    expect((await client.query(`SELECT n FROM ${table}`)).rows).toEqual([{ n: 1 }]);
    await client.end();
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
  });
});
