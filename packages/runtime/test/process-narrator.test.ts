import type { RheoEvents } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { narrate } from "@rheo/runtime/internal";
import { expect, test } from "vitest";
import { openOrders, until } from "./store.ts";

const listen = (events: RheoEvents): { info: string[]; warn: string[] } => {
  const told = { info: [] as string[], warn: [] as string[] };
  narrate(events, { info: (text) => told.info.push(text), warn: (text) => told.warn.push(text) });
  return told;
};

test("what goes as planned and what does not are told apart", async () => {
  await using rheo = await openOrders();
  const told = listen(rheo.events);
  const { emit } = internalsOf(rheo);
  emit("consumer.started", { stream: "orders", group: "g", consumerId: "c" });
  emit("thread.died", { threadId: 3, reason: "it exited with code 1", charged: 1, redispatched: 9 });
  expect(told).toEqual({
    info: ["orders/g is running"],
    warn: ["thread 3 died: it exited with code 1 (1 charged, 9 started again)"],
  });
});

test("a thousand of a kind are ten lines and a count", async () => {
  await using rheo = await openOrders();
  const { warn } = listen(rheo.events);
  const { emit } = internalsOf(rheo);
  for (let sequence = 1; sequence <= 1_000; sequence++)
    emit("lease.lost", { stream: "orders", group: "g", partition: 0, sequence, token: 1, consumerId: "c", why: "expired" });
  emit("handler.timed_out", { stream: "orders", group: "g", partition: 0, sequence: 1, attempt: 1, timeoutMs: 5 });
  expect([warn.length, warn[9], warn[10]]).toEqual([
    11,
    "orders/g lost its lease on 0@10: expired",
    "orders/g took more than 5 ms for 0@1",
  ]);
  await until("the rest is counted", () => warn.at(-1) === "lease.lost: 990 more");
});
