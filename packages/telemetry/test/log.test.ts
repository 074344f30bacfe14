import { FrozenClock, Rheo } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { type EventLogger, logEvents } from "@rheo/telemetry/log";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { openOrders } from "./fixtures/stores.ts";

type Line = Readonly<Record<string, unknown>>;

/** What pino writes. */
const written = (level: string): { logger: EventLogger; lines: Line[] } => {
  const lines: Line[] = [];
  return { lines, logger: pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) }) };
};

test("pino gets the fields of each event, and a message that says what and where", async () => {
  const { logger, lines } = written("info");
  await using rheo = await Rheo.open({ backend: memory(), name: "shop" });
  const log = logEvents({ rheo, logger });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g", { maxAttempts: 1 });
  await rheo.append("orders", { payload: { card: "secret" } });
  const [lease] = await rheo.fetch("orders", "g");
  if (lease !== undefined) await rheo.reject(lease, { reason: "no such customer" });
  expect(lines.map(({ level, msg }) => `${String(level)} ${String(msg)}`)).toEqual([
    "30 stream.created orders",
    "30 group.created orders/g",
    "50 dead_letter.created orders/g 0@1",
  ]);
  expect(lines[2]).toMatchObject({ type: "dead_letter.created", instance: "shop", stream: "orders", reason: "no such customer" });
  await log.close();
  await rheo.deleteStream("orders", { confirm: true });
  expect(lines).toHaveLength(3);
});

test("an error is what pino writes as one", async () => {
  const { logger, lines } = written("warn");
  await using rheo = await openOrders();
  await using _log = logEvents({ rheo, logger });
  const error = new Error("connection lost");
  internalsOf(rheo).emit("fetch.failed", { stream: "orders", group: "g", consumerId: "a", failures: 1, nextInMs: 5, error });
  expect(lines).toMatchObject([
    { msg: "fetch.failed orders/g", failures: 1, err: { type: "Error", message: "connection lost" } },
  ]);
  expect(lines[0]).not.toHaveProperty("error");
});

test("levels may be changed, and turned off", async () => {
  const { logger, lines } = written("trace");
  await using rheo = await openOrders();
  await using _log = logEvents({ rheo, logger, levels: { "event.appended": "warn", "group.created": "off" } });
  await rheo.createGroup("orders", "g");
  await rheo.append("orders", { payload: 1 });
  expect(lines).toMatchObject([{ level: 40, msg: "event.appended orders", count: 1 }]);
});

test("ten thousand lines of one kind in a second are fifty, and one that says how many more there were", async () => {
  const clock = new FrozenClock();
  const { logger, lines } = written("debug");
  await using rheo = await Rheo.open({ backend: memory(), clock });
  await using _log = logEvents({ rheo, logger });
  const { emit } = internalsOf(rheo);
  for (let sequence = 1; sequence <= 10_000; sequence++)
    emit("lease.stale", { stream: "orders", group: "g", partition: 0, sequence, token: 1, why: "gone" });
  emit("thread.started", { threadId: 3 });
  expect(lines).toHaveLength(51);
  clock.advance(1_000);
  expect(lines.at(-1)).toMatchObject({ msg: "lease.stale: 9950 more", leftOut: 9_950 });
  emit("lease.stale", { stream: "orders", group: "g", partition: 0, sequence: 1, token: 1, why: "gone" });
  expect(lines).toHaveLength(53);
});

test("a logger that throws harms nobody", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const fail = (): never => {
    throw new Error("disk full");
  };
  await using rheo = await openOrders();
  await using _log = logEvents({ rheo, logger: { trace: fail, debug: fail, info: fail, warn: fail, error: fail } });
  const event = await rheo.append("orders", { payload: 1 });
  expect(event.sequence).toBe(1);
});
