/** Behind a pooler in transaction mode, where two statements in a row need not meet the same connection. */

import { findPgbouncer, startPgbouncer, startPostgres } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import {
  acks,
  drain,
  fetching,
  fill,
  openBackend,
  request,
  STREAM,
  sequencesOf,
  settling,
  untilHearing,
} from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

if (findPgbouncer() === null) {
  const missing = "pgbouncer is not installed, so nothing is tested behind a pooler (Debian: apt-get install pgbouncer)";
  console.warn(`\n*** NOT RUN: ${missing}. ***\n`);
  test.runIf(process.env.CI === "true")("in CI pgbouncer is there", () => expect.fail(missing));
}

describe.skipIf(findPgbouncer() === null)("behind pgbouncer in transaction mode", async () => {
  if (findPgbouncer() === null) return;
  const server = await startPostgres({ fsync: "off" });
  const pooler = await startPgbouncer(server.port);
  afterAll(async () => {
    await pooler.stop();
    await server.stop();
  });

  test("everything works over two shared connections: migrations, many callers at once, transactions", async () => {
    const backend = await openBackend({ url: pooler.url, notify: false });
    await fill(backend, 100);
    const answers = await Promise.all(Array.from({ length: 200 }, () => backend.append([request(1)])));
    const appended = answers.flat().flatMap((answer) => (answer.kind === "appended" ? answer.events : []));
    expect(appended.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 200 }, (_, n) => 101 + n));
    const members = await Promise.all(Array.from({ length: 8 }, (_, n) => backend.exchange(fetching(10, [], `m${n}`))));
    for (const { grants } of members) await backend.exchange(settling(acks(grants)));
    await once(pooler.url, async (client) => {
      const { grants } = await backend.exchange(fetching(3));
      await client.query("BEGIN");
      await backend.exchange(settling(acks(grants), client));
      await client.query("COMMIT");
    });
    await drain(backend, 50);
    const [progress] = await backend.progress(STREAM, "g");
    expect(progress).toMatchObject({ frontier: 300, highWatermark: 300 });
    await backend.close();
  });

  test("a backend that listens through the pooler, which passes nothing on, does not believe that it hears", async () => {
    const backend = await openBackend({ url: pooler.url });
    const direct = await openBackend({ url: server.url });
    await untilHearing(direct);
    for (let n = 0; n < 5; n++) {
      await direct.append([request(1)]);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(backend.hearsAll?.()).toBe(false);
    await backend.close();
    await direct.close();
  });

  test("no settings, named statements or locks stay behind on the shared connections", async () => {
    const backend = await openBackend({ url: pooler.url, notify: false });
    await backend.append([request(5)]);
    expect(sequencesOf((await backend.exchange(fetching(1))).grants).length).toBeLessThanOrEqual(1);
    await once(pooler.url, async (client) => {
      for (const [name, value] of [
        ["enable_seqscan", "on"],
        ["jit", "on"],
        ["plan_cache_mode", "auto"],
      ]) {
        expect((await client.query(`SHOW ${name}`)).rows).toEqual([{ [name ?? ""]: value }]);
      }
      expect((await client.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
      expect((await client.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")).rows).toEqual([]);
    });
    await backend.close();
  });
});
