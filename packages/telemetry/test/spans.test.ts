import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AlwaysOffSampler, type ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { ack, defineStream, RheoError, reject, release, retry } from "@rheo/core";
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { instrument, publisher, stamp } from "@rheo/telemetry";
import { traced, tracedBatch } from "@rheo/telemetry/handler";
import { afterEach, beforeAll, expect, test } from "vitest";
import { followContext, tracing } from "./fixtures/otel.ts";
import { openOrders } from "./fixtures/stores.ts";
import { until } from "./fixtures/until.ts";

beforeAll(() => followContext());
afterEach(() => trace.disable());

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE = "0af7651916cd43dd8448eb211c80319c";

const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`No span ${name} among ${spans.map((span) => span.name).join(", ")}.`);
  return found;
};
const byFirst = ([a]: readonly unknown[], [b]: readonly unknown[]): number => String(a).localeCompare(String(b));
const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

test("append, delivery and settlement are one trace, each under the one before", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  await using _telemetry = instrument({ rheo, tracerProvider: provider });
  const event = await publisher(rheo, { tracerProvider: provider }).append("orders", { payload: 1 });
  const [lease] = await rheo.fetch("orders", "g", { consumerId: "a" });
  if (lease !== undefined) await rheo.ack(lease);
  const [deliver, send, settle] = ["deliver orders", "send orders", "settle orders"].map((name) => named(spans(), name));
  if (deliver === undefined || send === undefined || settle === undefined) throw new Error("There are three.");
  expect(spans()).toHaveLength(3);
  expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  expect([parentOf(send), parentOf(deliver), parentOf(settle)]).toEqual([undefined, idOf(send), idOf(deliver)]);
  expect([send.kind, deliver.kind, settle.kind]).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER, SpanKind.CLIENT]);
  expect(event.metadata.traceparent).toBe(`00-${send.spanContext().traceId}-${idOf(send)}-01`);
  const common = { "messaging.system": "rheo", "messaging.destination.name": "orders" };
  expect(send.attributes).toEqual({ ...common, "messaging.operation.name": "append", "messaging.operation.type": "send" });
  expect(deliver.attributes).toEqual({
    ...common,
    "messaging.destination.partition.id": "0",
    "messaging.consumer.group.name": "g",
    "messaging.client.id": "a",
    "messaging.operation.name": "deliver",
    "messaging.operation.type": "process",
    "rheo.sequence": 1,
    "rheo.attempt": 1,
    "rheo.outcome": "acked",
  });
  expect(settle.attributes).toMatchObject({ ...common, "messaging.operation.name": "ack", "messaging.operation.type": "settle" });
});

test("each way to settle is told by its span, and what failed is marked so", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  await using _telemetry = instrument({ rheo, tracerProvider: provider });
  const metadata = { traceparent: PARENT };
  await rheo.appendMany(
    "orders",
    [1, 2, 3, 4, 5].map((payload) => ({ payload, metadata })),
  );
  const leases = await rheo.fetch("orders", "g");
  await rheo.resetGroup("orders", "g", { confirm: true, start: { after: 4 } }).catch(() => undefined);
  expect(leases).toHaveLength(5);
  const outcomes = [ack(), retry("later"), reject("no"), release(), ack()];
  await rheo.settle(leases.map((lease, at) => ({ lease, outcome: outcomes[at] ?? ack() })));
  const delivered = spans().filter(({ name }) => name === "deliver orders");
  expect(delivered.map(({ attributes }) => attributes["rheo.outcome"])).toEqual(new Array(5).fill("stale"));
  expect(delivered.every(({ status }) => status.code === SpanStatusCode.ERROR)).toBe(true);
});

test("outcomes of a batch are told apart", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  await using _telemetry = instrument({ rheo, tracerProvider: provider });
  const metadata = { traceparent: PARENT };
  await rheo.appendMany(
    "orders",
    [1, 2, 3, 4].map((payload) => ({ payload, metadata })),
  );
  const outcomes = [ack(), retry("later"), reject("no"), release()];
  const leases = await rheo.fetch("orders", "g");
  await rheo.settle(leases.map((lease, at) => ({ lease, outcome: outcomes[at] ?? ack() })));
  const delivered = spans().filter(({ name }) => name === "deliver orders");
  const told = delivered.map(({ attributes, status }) => [attributes["rheo.sequence"], attributes["rheo.outcome"], status.code]);
  const { UNSET, ERROR } = SpanStatusCode;
  expect(told.sort(byFirst)).toEqual([
    [1, "acked", UNSET],
    [2, "retrying", ERROR],
    [3, "dead", ERROR],
    [4, "released", UNSET],
  ]);
});

test("events without a trace, with one that is broken, or in one that is not sampled, make no span", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  await using _telemetry = instrument({ rheo, tracerProvider: provider });
  const traces = [
    undefined,
    "",
    "00-0-0-01",
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `${PARENT.slice(0, -2)}00`,
    `ff${PARENT.slice(2)}`,
    7,
  ];
  for (const traceparent of traces)
    await rheo.append("orders", { payload: 1, ...(traceparent === undefined ? {} : { metadata: { traceparent } }) });
  for (const lease of await rheo.fetch("orders", "g")) await rheo.ack(lease);
  expect(spans()).toEqual([]);
});

test("what is still held when it is closed has a span that says that nothing is known of it", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g");
  const telemetry = instrument({ rheo, tracerProvider: provider });
  await rheo.append("orders", { payload: 1, metadata: { traceparent: PARENT } });
  await rheo.fetch("orders", "g");
  expect(spans()).toEqual([]);
  await telemetry.close();
  expect(spans().map(({ attributes }) => attributes["rheo.outcome"])).toEqual(["unknown"]);
});

test("a stamped event carries the active span, and may be appended again under its id", async () => {
  const { provider } = tracing();
  await using rheo = await openOrders();
  const { append } = publisher(rheo, { tracerProvider: provider });
  const inSpan = <Result>(work: (span: Span) => Result): Result => provider.getTracer("test").startActiveSpan("request", work);
  const event = inSpan(() => stamp({ id: "order-1", payload: 1, metadata: { producer: "shop" } }));
  const first = await append("orders", event);
  const second = await append("orders", event);
  expect(second.sequence).toBe(first.sequence);
  expect(first.metadata).toMatchObject({
    producer: "shop",
    traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  });
  expect(stamp({ payload: 1 })).toEqual({ payload: 1 });
  await append("orders", { id: "order-2", payload: 1 });
  await expect(append("orders", { id: "order-2", payload: 1 })).rejects.toMatchObject({ code: "id_conflict" });
});

test("a publisher takes definitions of streams, many events, and tells what failed", async () => {
  const { provider, spans } = tracing();
  await using rheo = await openOrders();
  const orders = defineStream<{ readonly total: number }>({ name: "orders" });
  const { append, appendMany } = publisher(rheo, { tracerProvider: provider });
  const many = await appendMany(orders, [
    { payload: { total: 1 } },
    { payload: { total: 2 }, metadata: { traceparent: PARENT } },
  ]);
  expect(many.map(({ metadata }) => metadata.traceparent === PARENT)).toEqual([false, true]);
  await expect(append("no-such-stream", { payload: 1 })).rejects.toBeInstanceOf(RheoError);
  const [failed, sent] = [named(spans(), "send no-such-stream"), named(spans(), "send orders")];
  expect(sent.attributes["messaging.batch.message_count"]).toBe(2);
  expect(sent.links.map(({ context: linked }) => linked.traceId)).toEqual([TRACE]);
  expect([failed.attributes["error.type"], failed.status.code]).toEqual(["stream_not_found", SpanStatusCode.ERROR]);
});

test("without a tracer events are appended as they are", async () => {
  await using rheo = await openOrders();
  const event = await publisher(rheo).append("orders", { payload: 1 });
  expect(event.metadata).toEqual({});
  const { provider } = tracing(new AlwaysOffSampler());
  const unsampled = await publisher(rheo, { tracerProvider: provider }).append("orders", { payload: 1 });
  expect(unsampled.metadata.traceparent).toMatch(/-00$/);
});

test("a traced handler runs in the trace of its event, and tells how it ended", async () => {
  const { provider, spans } = tracing();
  trace.setGlobalTracerProvider(provider);
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g", { maxAttempts: 1 });
  const payloads = ["returns", "waits", "rejects", "throws", "fails"];
  await rheo.appendMany(
    "orders",
    payloads.map((payload) => ({ id: payload, payload, metadata: { traceparent: PARENT } })),
  );
  const seen: (string | undefined)[] = [];
  const work = traced(async ({ payload }) => {
    if (payload !== "returns") await new Promise((resolve) => setImmediate(resolve));
    seen.push(trace.getSpan(context.active())?.spanContext().traceId);
    if (payload === "rejects") return reject("never");
    if (payload === "fails") throw new TypeError("secret");
    return undefined;
  });
  const sync = traced(() => {
    throw new RangeError("secret");
  });
  const run = handler((event, more) => (event.payload === "throws" ? sync(event, more) : work(event, more)));
  await using app = await supervise({ rheo, consumers: [{ stream: "orders", group: "g", handler: run }] });
  await rheo.whenCaughtUp("orders", "g");
  await app.stop();
  expect(seen).toEqual(new Array(4).fill(TRACE));
  const told = spans().map(({ attributes }) => [
    attributes["messaging.message.id"],
    attributes["rheo.outcome"],
    attributes["error.type"],
  ]);
  expect(told.sort(byFirst)).toEqual([
    ["fails", undefined, "TypeError"],
    ["rejects", "reject", "reject"],
    ["returns", "ack", undefined],
    ["throws", undefined, "RangeError"],
    ["waits", "ack", undefined],
  ]);
  expect(new Set(spans().map((span) => span.spanContext().traceId))).toEqual(new Set([TRACE]));
});

test("a traced batch is one span, linked with the traces of its events", async () => {
  const { provider, spans } = tracing();
  trace.setGlobalTracerProvider(provider);
  await using rheo = await openOrders();
  const other = PARENT.replace("0af7", "1af7");
  const events = await rheo.appendMany(
    "orders",
    [PARENT, other].map((traceparent) => ({ payload: 1, metadata: { traceparent } })),
  );
  const run = tracedBatch((batch: readonly unknown[]) => batch.length);
  expect(run(events, {} as never)).toBe(2);
  expect(spans()[0]?.links.map(({ context: linked }) => linked.traceId)).toEqual([TRACE, TRACE.replace("0af7", "1af7")]);
  expect(spans()[0]?.attributes["messaging.batch.message_count"]).toBe(2);
});

test("in a worker thread a traced handler runs in the trace of its event", async () => {
  await using rheo = await openOrders();
  await rheo.createGroup("orders", "g", { maxAttempts: 1 });
  await rheo.append("orders", { payload: 1, metadata: { traceparent: PARENT } });
  const module = new URL("./fixtures/traced.mjs", import.meta.url);
  await using app = await supervise({ rheo, threads: 1, consumers: [{ stream: "orders", group: "g", handler: module }] });
  await until("it is dead", async () => (await rheo.deadLetters("orders", "g")).length === 1);
  expect((await rheo.deadLetters("orders", "g"))[0]?.reason).toBe(TRACE);
  await app.stop();
});
