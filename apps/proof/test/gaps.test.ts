/** Facts of the runtime and of waiting calls that only a mutant of real code showed to be unproven. */
import { type Backend, FrozenClock, Rheo, RheoError } from "@rheo/core";
import { retryDelayMs } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { batchHandler, handler, reject } from "@rheo/runtime/handler";
import { Ledger } from "@rheo/runtime/internal";
import { overlay } from "@rheo/testing/internal";
import { expect, test } from "vitest";

const LEASE_MS = 3_000;
const consumer = { stream: "orders", group: "g", createGroup: {}, leaseMs: LEASE_MS, pollMs: 60_000 } as const;

const open = async (clock: FrozenClock, backend: Backend, payloads: readonly unknown[]): Promise<Rheo> => {
  const rheo = await Rheo.open({ backend, clock });
  await rheo.createStream("orders", { partitions: 1 });
  for (const payload of payloads) await rheo.append("orders", { payload });
  return rheo;
};

/** Turns of the event loop, without time passing. */
const turns = async (count = 8): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const pass = async (clock: FrozenClock, ms: number): Promise<void> => {
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50);
    await turns();
  }
};

const stop = async (app: { stop(): Promise<void> }, clock: FrozenClock): Promise<void> => {
  let isOver = false;
  const stopping = app.stop().finally(() => {
    isOver = true;
  });
  while (!isOver) await pass(clock, 50);
  await stopping;
};

test("T3 · jitter never takes a delay above the longest", () => {
  expect(retryDelayMs({ minMs: 10, maxMs: 100, factor: 10, jitter: 1 }, 5, 0.99)).toBe(100);
});

test("the outcome of a handler whose lease was lost is dropped", () => {
  const ledger = new Ledger();
  const record = { id: "e", partition: 0, sequence: 1, timestampMs: 0, type: null, key: null, metadata: "{}", payload: "1" };
  ledger.add({ partition: 0, token: 1, attempt: 1, leasedAtMs: 0, expiresAtMs: LEASE_MS, events: [record] }, 0, LEASE_MS);
  for (const { batch, index } of ledger.takeMany(1)) {
    expect(ledger.lose(batch, index)).toBe("running");
    expect(ledger.finish(batch, index, null)).toBe(false);
  }
  expect(ledger.takeSettlements()).toEqual([]);
  expect(ledger.isEmpty).toBe(true);
});

test("F7 · what was sent once is never contradicted, whether it arrived or not", async () => {
  const clock = new FrozenClock();
  const sent = new Map<string, Set<string>>();
  let failed = 0;
  const inner = memory();
  const exchange: Backend["exchange"] = async (request) => {
    for (const { token, sequences, outcome } of request.settlements)
      for (const sequence of sequences) {
        const place = `${sequence}/${token}`;
        sent.set(place, (sent.get(place) ?? new Set()).add(outcome.kind));
      }
    if (request.settlements.length === 0 || failed >= 6) return inner.exchange(request);
    failed += 1;
    if (failed % 2 === 0) await inner.exchange(request);
    throw new RheoError("outcome_unknown", "the answer was lost");
  };
  const rheo = await open(clock, overlay(inner, { exchange }), [1, 2, 3]);
  const app = await supervise({ rheo, consumers: [{ ...consumer, handler: handler(() => undefined) }] });
  await pass(clock, 10_000);
  await stop(app, clock);
  expect([...sent.values()].map((kinds) => [...kinds])).toEqual([["ack"], ["ack"], ["ack"]]);
  expect(failed).toBe(6);
  await rheo.close();
});

test("F5 · a lease is counted from when its renewal was asked, not from when it was answered", async () => {
  const clock = new FrozenClock();
  const inner = memory();
  let expiresAtMs = 0;
  const renew: Backend["renew"] = async (request) => {
    if (expiresAtMs > 0) throw new RheoError("unavailable", "the store is away");
    const answer = await inner.renew(request);
    expiresAtMs = answer.expiresAtMs;
    await new Promise<void>((resolve) => void clock.schedule(LEASE_MS * 0.4, resolve));
    return answer;
  };
  const rheo = await open(clock, overlay(inner, { renew }), [1]);
  const lostAtMs: number[] = [];
  rheo.events.on("lease.lost", () => void lostAtMs.push(clock.now()));
  const work = handler((_, { signal }) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())));
  const app = await supervise({ rheo, consumers: [{ ...consumer, handler: work }] });
  await pass(clock, 2 * LEASE_MS);
  expect(expiresAtMs).toBeGreaterThan(0);
  expect(lostAtMs[0]).toBeLessThanOrEqual(expiresAtMs);
  await stop(app, clock);
  await rheo.close();
});

test("each batch that is not full waits its own time", async () => {
  const clock = new FrozenClock();
  const rheo = await open(clock, memory(), []);
  const sizes: number[] = [];
  const work = batchHandler((events) => void sizes.push(events.length));
  const app = await supervise({
    rheo,
    consumers: [{ ...consumer, leaseMs: 600_000, concurrency: 1, batch: { size: 3, waitMs: 1_000 }, handler: work }],
  });
  for (const round of [1, 2, 3]) {
    await rheo.append("orders", { payload: round });
    await pass(clock, 1_500);
    expect(sizes).toEqual(new Array(round).fill(1));
  }
  await stop(app, clock);
  await rheo.close();
});

test("a probe that is rejected makes way for another", async () => {
  const clock = new FrozenClock();
  const rheo = await open(clock, memory(), ["fails", "rejects", "passes"]);
  const work = handler((event) => {
    if (event.payload === "fails" && clock.now() < brokenUntilMs) throw new Error("it is down");
    return event.payload === "rejects" ? reject("never") : undefined;
  });
  const brokenUntilMs = clock.now() + 500;
  const options = { concurrency: 1, breaker: { failures: 1, openMs: 1_000, maxOpenMs: 1_000 } };
  const createGroup = { retry: { minMs: 5_000, maxMs: 5_000 } };
  const app = await supervise({ rheo, consumers: [{ ...consumer, ...options, pollMs: 200, createGroup, handler: work }] });
  await pass(clock, 10_000);
  expect((await rheo.lag("orders", "g")).lag).toBe(0);
  await stop(app, clock);
  await rheo.close();
});

test("what crashed its thread comes again at once, however long retries wait", async () => {
  const rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("orders", { partitions: 1 });
  await rheo.append("orders", { payload: { do: "exitOnce" } });
  const module = new URL("../../../packages/runtime/test/fixtures/actions.mjs", import.meta.url);
  const createGroup = { retry: { minMs: 3_600_000, maxMs: 3_600_000 } };
  const app = await supervise({ rheo, threads: 1, consumers: [{ stream: "orders", group: "g", createGroup, handler: module }] });
  await expect.poll(async () => (await rheo.lag("orders", "g")).lag, { timeout: 10_000 }).toBe(0);
  await app.stop();
  await rheo.close();
});

test("partitions whose renewal hangs are not fetched from after their lease", async () => {
  const clock = new FrozenClock();
  const inner = memory();
  let isHanging = false;
  const renew: Backend["renew"] = (request) => (isHanging ? new Promise(() => undefined) : inner.renew(request));
  const rheo = await open(clock, overlay(inner, { renew }), []);
  const app = await supervise({ rheo, consumers: [{ ...consumer, partitions: "assigned", handler: handler(() => undefined) }] });
  await pass(clock, LEASE_MS);
  expect(app.children()[0]?.details.partitions).toEqual([0]);
  isHanging = true;
  await pass(clock, LEASE_MS);
  expect(app.children()[0]?.details.partitions).toEqual([]);
  await stop(app, clock);
  await rheo.close();
});

test("a wake-up during a fetch that waits ends its wait", async () => {
  const clock = new FrozenClock();
  const inner = memory();
  let isFirst = true;
  const rheo: Rheo = await open(
    clock,
    overlay(inner, {
      exchange: async (request) => {
        const answer = await inner.exchange(request);
        if (isFirst) {
          isFirst = false;
          await rheo.append("orders", { payload: "late" });
          await turns();
        }
        return answer;
      },
    }),
    [],
  );
  await rheo.createGroup("orders", "g");
  let found = 0;
  void rheo.fetch("orders", "g", { waitMs: 60_000 }).then((leases) => {
    found = leases.length;
  });
  await turns(30);
  expect(found).toBe(1);
  await rheo.close();
});
