import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { prometheus } from "@rheo/telemetry/prometheus";
import { AggregatorRegistry, Counter, type OpenMetricsContentType, Registry } from "prom-client";
import { expect, test } from "vitest";
import { scrape, total } from "./fixtures/scrape.ts";
import { openOrders } from "./fixtures/stores.ts";

test("the handler answers GET with the text, HEAD without it, and nothing else", async () => {
  await using rheo = await openOrders([1]);
  await using metrics = prometheus({ rheo });
  const { handler } = metrics;
  const got = await handler(new Request("http://localhost/metrics"));
  expect(got.status).toBe(200);
  expect(got.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(total(scrape(await got.text()), "rheo_store_up")).toBe(1);
  const head = await handler(new Request("http://localhost/metrics", { method: "HEAD" }));
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const posted = await handler(new Request("http://localhost/metrics", { method: "POST", body: "x" }));
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("a server of node:http gives it to a client", async () => {
  await using rheo = await openOrders([1]);
  await using metrics = prometheus({ rheo });
  const server = createServer((_, response) => {
    void metrics.text().then((text) => response.setHeader("content-type", metrics.registry.contentType).end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const families = scrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  expect(families.get("rheo_group_lag")?.type).toBe("gauge");
  await new Promise((resolve) => server.close(resolve));
});

test("metrics stand beside those of others in a registry, once, and leave it when they are closed", async () => {
  await using rheo = await openOrders([1]);
  const registry = new Registry();
  new Counter({ name: "mine_total", help: "Mine.", registers: [registry] }).inc();
  const metrics = prometheus({ rheo, registry });
  expect([...scrape(await registry.metrics()).keys()]).toEqual(expect.arrayContaining(["mine_total", "rheo_store_up"]));
  expect(() => prometheus({ rheo, registry })).toThrow(expect.objectContaining({ code: "invalid_option" }));
  expect(rheo.events.listenerCount("event.appended"), "the one refused listens to nothing").toBe(1);
  await metrics.close();
  await metrics.close();
  expect([...scrape(await registry.metrics()).keys()]).toEqual(["mine_total"]);
  expect(rheo.events.listenerCount("event.appended")).toBe(0);
});

test("a counter of a group is there with 0 before anything is counted, so that the first dead letter is a rise", async () => {
  await using rheo = await openOrders([1]);
  await rheo.createGroup("orders", "g");
  await using metrics = prometheus({ rheo });
  expect(total(scrape(await metrics.text()), "rheo_dead_letters_created_total", { stream: "orders", group: "g" })).toBe(0);
});

test("buckets are cumulative, and the last holds all", async () => {
  await using rheo = await openOrders([1, 2, 3]);
  await rheo.createGroup("orders", "g");
  await using metrics = prometheus({ rheo });
  for (const lease of await rheo.fetch("orders", "g")) await rheo.ack(lease);
  const { samples = [] } = scrape(await metrics.text()).get("rheo_delivery_ack_latency_seconds") ?? {};
  const buckets = samples.filter(({ name }) => name.endsWith("_bucket"));
  expect(buckets.map(({ labels }) => Number(labels.le?.replace("+Inf", "Infinity")))).toEqual(
    buckets.map(({ labels }) => Number(labels.le?.replace("+Inf", "Infinity"))).sort((a, b) => a - b),
  );
  expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).sort((a, b) => a - b));
  expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: 3 });
});

test("OpenMetrics is spoken too", async () => {
  await using rheo = await openOrders([1]);
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  await using metrics = prometheus({ rheo, registry });
  await rheo.append("orders", { payload: 2 });
  const text = await metrics.text();
  expect(text).toContain("# TYPE rheo_events_appended counter");
  expect(text).toContain('rheo_events_appended_total{stream="orders"} 1');
  expect(text.endsWith("# EOF\n")).toBe(true);
  expect(await metrics.text()).toBe(text);
});

test("in a cluster of processes what the store says is not added up", async () => {
  await using rheo = await openOrders([1]);
  await rheo.createGroup("orders", "g");
  await using metrics = prometheus({ rheo });
  const json = await metrics.registry.getMetricsAsJSON();
  const merged = await AggregatorRegistry.aggregate([json, json]).metrics();
  expect(total(scrape(merged), "rheo_group_lag")).toBe(1);
});
