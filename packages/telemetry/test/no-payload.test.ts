import { Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { handler, reject } from "@rheo/runtime/handler";
import { instrument, publisher } from "@rheo/telemetry";
import { logEvents } from "@rheo/telemetry/log";
import { prometheus } from "@rheo/telemetry/prometheus";
import { pino } from "pino";
import { expect, test } from "vitest";
import { metering, tracing } from "./fixtures/otel.ts";

test("nothing of an event's content gets into metrics, spans or logs, nor its key or id into a label", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  const { provider: meterProvider, collect } = metering();
  const { provider: tracerProvider, spans } = tracing();
  const rheo = await Rheo.open({ backend: memory() });
  await using _log = logEvents({ rheo, logger });
  await using metrics = prometheus({ rheo });
  await using _telemetry = instrument({ rheo, meterProvider, tracerProvider });
  await rheo.createStream("orders");
  const event = { type: "secret-type", key: "secret-key", payload: { card: "secret-card" }, metadata: { note: "secret-note" } };
  const { appendMany } = publisher(rheo, { tracerProvider });
  await appendMany("orders", [{ ...event, id: "secret-id" }, event]);
  await appendMany("orders", [{ ...event, id: "secret-id", payload: "secret-other" }]).catch((error: unknown) =>
    expect(RheoError.is(error, "id_conflict")).toBe(true),
  );
  const run = handler(({ id }) => (id === "secret-id" ? reject("broken") : undefined));
  await using app = await supervise({ rheo, consumers: [{ stream: "orders", group: "g", createGroup: {}, handler: run }] });
  metrics.watch(app);
  await rheo.whenCaughtUp("orders", "g");
  const told = { text: await metrics.text(), metrics: [...(await collect()).values()], logs: lines };
  expect(JSON.stringify(told)).not.toContain("secret");
  const spanned = spans().map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }));
  expect(spanned.length).toBeGreaterThan(4);
  expect(JSON.stringify(spanned)).not.toMatch(/secret-(type|key|card|note|other)/);
  await app.stop();
  await meterProvider.shutdown();
  await rheo.close();
});
