import type { Backend } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import { ackOf, event, fetching, fill, openBackend, request, STREAM, settling } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

const query = (text: string): Promise<Record<string, unknown>[]> =>
  once(server.url, async (client) => (await client.query(text)).rows);

describe("views for people and other programs", () => {
  test("events_view is the log, with content that SQL can look into", async () => {
    const backend: Backend = await openBackend({ url: server.url, notify: false });
    await backend.createStream(STREAM, 1);
    const timestampMs = Date.UTC(2024, 1, 29, 12, 0, 0, 5);
    const one = {
      ...event({ order: { total: 12.5 } }),
      id: "order-1",
      type: "placed",
      key: "c-1",
      timestampMs,
      metadata: '{"source":"shop"}',
    };
    await backend.append([{ stream: STREAM, partitions: 1, events: [one] }]);
    expect(await query("SELECT *, payload #>> '{order,total}' AS total FROM rheo.events_view")).toEqual([
      {
        stream: STREAM,
        partition: 0,
        sequence: "1",
        id: "order-1",
        timestamp: new Date(timestampMs),
        type: "placed",
        key: "c-1",
        metadata: { source: "shop" },
        payload: { order: { total: 12.5 } },
        total: "12.5",
      },
    ]);
    await backend.close();
  });

  test("lag_view says the same as the port, whatever is open", async () => {
    const backend = await openBackend({ url: server.url, schema: "lag", notify: false });
    await fill(backend, 10);
    const { grants } = await backend.exchange(fetching(6));
    await backend.exchange(settling([ackOf(grants[0], 1), ackOf(grants[0], 3)]));
    const look = (): Promise<Record<string, unknown>[]> =>
      query("SELECT stream, group_name, partition, frontier::int, high_watermark::int, lag::int FROM lag.lag_view");
    expect(await look()).toEqual([{ stream: STREAM, group_name: "g", partition: 0, frontier: 1, high_watermark: 10, lag: 9 }]);
    await once(server.url, async (client) => {
      await client.query("BEGIN");
      await backend.exchange(settling([ackOf(grants[0], 2)], client));
      await client.query("COMMIT");
    });
    // 2 was settled in a transaction of the user's, which nobody has folded into the lease yet
    expect(await look()).toMatchObject([{ frontier: 3, lag: 7 }]);
    expect(await backend.progress(STREAM, "g")).toMatchObject([{ frontier: 3 }]);
    await backend.append([request(1)]);
    expect(await look()).toMatchObject([{ frontier: 3, high_watermark: 11, lag: 8 }]);
    await backend.close();
  });
});
