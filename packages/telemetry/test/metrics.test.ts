/** The same through the SDK of OpenTelemetry. */
import { Rheo } from "@rheo/core";
import type { Supervisor } from "@rheo/runtime";
import { instrument } from "@rheo/telemetry";
import { CATALOGUE } from "@rheo/telemetry/internal";
import { flaky } from "@rheo/testing";
import { describe, expect, test } from "vitest";
import { metering, sumOf } from "./fixtures/otel.ts";
import { everything } from "./fixtures/scenes.ts";
import { backendOf, openOrders, STORES } from "./fixtures/stores.ts";
import { until } from "./fixtures/until.ts";

describe.each(STORES)("on %s", (kind) => {
  test("each metric of the catalogue is there under its name, with its unit and kind, and no other", async () => {
    const { provider, collect } = metering();
    const { backend, remove } = await backendOf(kind);
    const store = flaky(backend, { seed: 1 });
    const apps: Supervisor[] = [];
    await using rheo = await Rheo.open({ backend: store });
    await using telemetry = instrument({ rheo, meterProvider: provider, gaugesEveryMs: 100 });
    const keep = (app: Supervisor): void => {
      apps.push(app);
      telemetry.watch(app);
    };
    try {
      for (const scene of everything) await scene({ rheo, store, keep });
      store.failNext("listStreams", "refused");
      await collect(); // a failed reading counts
      await until("the gauges are read again", async () => (await collect()).has("rheo.group.lag"));
      const metrics = await collect();
      expect([...metrics.keys()].sort()).toEqual(CATALOGUE.map(({ otel }) => otel).sort());
      for (const { otel, unit, kind: what } of CATALOGUE) {
        const metric = metrics.get(otel);
        expect(metric?.descriptor.unit, otel).toBe(unit);
        expect(metric?.dataPoints.length, otel).toBeGreaterThan(0);
        expect(metric?.dataPointType === 0, otel).toBe(what === "histogram");
        for (const { attributes } of metric?.dataPoints ?? []) expect(attributes["messaging.system"]).toBe("rheo");
      }
    } finally {
      await Promise.all(apps.map((app) => app.stop({ timeoutMs: 0 })));
      await provider.shutdown();
      await remove();
    }
  });
});

test("streams and groups are named as the messaging conventions name them", async () => {
  const { provider, collect } = metering();
  await using rheo = await openOrders();
  await using _telemetry = instrument({ rheo, meterProvider: provider });
  await rheo.createGroup("orders", "g");
  await rheo.appendMany("orders", [{ payload: 1 }, { payload: 2 }]);
  for (const lease of await rheo.fetch("orders", "g")) await rheo.ack(lease);
  const metrics = await collect();
  const stream = { "messaging.destination.name": "orders" };
  const group = { ...stream, "messaging.consumer.group.name": "g" };
  expect(sumOf(metrics.get("messaging.client.sent.messages"), stream)).toBe(2);
  expect(sumOf(metrics.get("messaging.client.consumed.messages"), group)).toBe(2);
  expect(sumOf(metrics.get("rheo.deliveries.settled"), { ...group, "rheo.state": "acked" })).toBe(2);
  expect(sumOf(metrics.get("rheo.delivery.ack_latency"), group)).toBe(2);
  expect(sumOf(metrics.get("rheo.group.lag"), group)).toBe(0);
  await provider.shutdown();
});

test("closed, it observes and counts nothing more", async () => {
  const { provider, collect } = metering();
  await using rheo = await openOrders();
  const telemetry = instrument({ rheo, meterProvider: provider });
  await rheo.append("orders", { payload: 1 });
  await telemetry.close();
  await telemetry.close();
  await rheo.append("orders", { payload: 2 });
  const metrics = await collect();
  expect(sumOf(metrics.get("messaging.client.sent.messages"))).toBe(1);
  expect(metrics.get("rheo.store.up")).toBeUndefined();
  for (const type of ["event.appended", "delivery.leased", "delivery.settled", "delivery.handled", "lease.stale"] as const)
    expect(rheo.events.listenerCount(type), type).toBe(0);
  await provider.shutdown();
});

test("a meter that throws keeps nobody from working", async () => {
  const broken = (): never => {
    throw new Error("exporter failed");
  };
  const instrumentOf = (): object => ({ add: broken, record: broken });
  const meter = {
    createCounter: instrumentOf,
    createHistogram: instrumentOf,
    createObservableGauge: instrumentOf,
    addBatchObservableCallback: () => undefined,
    removeBatchObservableCallback: () => undefined,
  };
  const tracer = { startSpan: broken };
  const warned = new Promise((resolve) => process.once("warning", resolve));
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  const providers = { meterProvider: { getMeter: () => meter }, tracerProvider: { getTracer: () => tracer } };
  await using _telemetry = instrument({ rheo, ...providers } as never);
  const metadata = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  await rheo.append("orders", { payload: 1, metadata });
  const [lease] = await rheo.fetch("orders", "g");
  expect(lease?.sequence).toBe(1);
  if (lease !== undefined) await rheo.ack(lease);
  expect((await rheo.lag("orders", "g")).lag).toBe(0);
  expect(await warned).toMatchObject({ name: "RheoWarning" });
});
