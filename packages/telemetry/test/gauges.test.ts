import { type Backend, FrozenClock, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { OTHER } from "@rheo/telemetry/internal";
import { prometheus } from "@rheo/telemetry/prometheus";
import { flaky } from "@rheo/testing";
import { expect, onTestFinished, test } from "vitest";
import { scrape, total } from "./fixtures/scrape.ts";
import { openOrders } from "./fixtures/stores.ts";
import { until } from "./fixtures/until.ts";

/** A backend that says how often groups were read, and that can be made to wait for ever. */
const watched = (): { backend: Backend; reads: () => number; hang: () => void; letGo: () => void } => {
  const backend = memory();
  const groupStats = backend.groupStats.bind(backend);
  let reads = 0;
  let gate: Promise<void> | null = null;
  let letGo = (): void => undefined;
  backend.groupStats = async (stream, group) => {
    reads += 1;
    await gate;
    return await groupStats(stream, group);
  };
  return {
    backend,
    reads: () => reads,
    hang: () => {
      gate = new Promise((resolve) => {
        letGo = resolve;
      });
    },
    letGo: () => letGo(),
  };
};

test("however many scrape at once and one after another, the store is read once per interval", async () => {
  const clock = new FrozenClock();
  const { backend, reads } = watched();
  await using rheo = await Rheo.open({ backend, clock });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g");
  await using metrics = prometheus({ rheo, gaugesEveryMs: 1_000 });
  await Promise.all(Array.from({ length: 20 }, () => metrics.text()));
  await metrics.text();
  expect(reads()).toBe(1);
  clock.advance(1_000);
  await metrics.text();
  expect(reads()).toBe(2);
});

test("gauges say what groupInfo says, and how old the oldest event is", async () => {
  const clock = new FrozenClock();
  await using rheo = await Rheo.open({ backend: memory(), clock });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g");
  await rheo.appendMany("orders", [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  const [lease] = await rheo.fetch("orders", "g", { limit: 2 });
  if (lease !== undefined) await rheo.nack(lease, { delayMs: 60_000 });
  clock.advance(7_000);
  await using metrics = prometheus({ rheo });
  const families = scrape(await metrics.text());
  const of = (name: string): number | null => total(families, name, { stream: "orders", group: "g" });
  expect(of("rheo_group_lag")).toBe(3);
  expect(of("rheo_group_inflight")).toBe(1);
  expect(of("rheo_group_retrying")).toBe(1);
  expect(of("rheo_group_members")).toBe(1);
  expect(of("rheo_group_oldest_age_seconds")).toBe(7);
  expect(of("rheo_group_paused")).toBe(0);
});

test("a store that is away answers a scrape with rheo_store_up 0 and what is known without it", async () => {
  const store = flaky(memory(), { seed: 1 });
  await using rheo = await openOrders([1], { backend: store });
  await using metrics = prometheus({ rheo });
  await rheo.append("orders", { payload: 2 });
  store.failNext("listStreams", "refused");
  const families = scrape(await metrics.text());
  expect(total(families, "rheo_store_up")).toBe(0);
  expect(total(families, "rheo_group_lag")).toBeNull();
  expect(total(families, "rheo_events_appended_total")).toBe(1);
  expect(total(families, "rheo_telemetry_read_failures_total")).toBe(1);
});

test("a group that cannot be read leaves the others as they are", async () => {
  const store = flaky(memory(), { seed: 1 });
  await using rheo = await openOrders([1], { backend: store });
  for (const group of ["a", "b"]) await rheo.createGroup("orders", group);
  await using metrics = prometheus({ rheo });
  store.failNext("groupStats", "refused");
  const families = scrape(await metrics.text());
  expect(families.get("rheo_group_lag")?.samples).toHaveLength(1);
  expect(total(families, "rheo_store_up")).toBe(1);
  expect(total(families, "rheo_telemetry_read_failures_total")).toBe(1);
});

test("a store that hangs holds up a scrape for five seconds, and is not asked again before it has answered", async () => {
  const clock = new FrozenClock();
  const { backend, reads, hang, letGo } = watched();
  await using rheo = await Rheo.open({ backend, clock });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g");
  await using metrics = prometheus({ rheo, gaugesEveryMs: 1_000 });
  hang();
  for (let scrapes = 0; scrapes < 3; scrapes++) {
    const text = metrics.text();
    await until("the group is being read", () => reads() === 1);
    clock.advance(5_000);
    expect(total(scrape(await text), "rheo_store_up")).toBe(0);
  }
  expect(reads()).toBe(1);
  letGo();
  clock.advance(1_000);
  const families = scrape(await metrics.text());
  expect(total(families, "rheo_store_up")).toBe(1);
  expect(total(families, "rheo_group_lag"), "what came late is used").toBe(0);
  expect(reads()).toBe(1);
});

test("named groups alone have gauges, and one that is not there has none", async () => {
  await using rheo = await openOrders([1]);
  for (const group of ["a", "b"]) await rheo.createGroup("orders", group);
  const groups = [
    { stream: "orders", group: "a" },
    { stream: "orders", group: "later" },
    { stream: "no-such-stream", group: "a" },
  ];
  await using metrics = prometheus({ rheo, groups });
  const families = scrape(await metrics.text());
  expect(families.get("rheo_group_lag")?.samples.map(({ labels }) => labels.group)).toEqual(["a"]);
  expect(total(families, "rheo_telemetry_read_failures_total")).toBe(0);
});

test("beyond maxGroups groups share one name, have no gauges, and one warning says so", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void (warning.name === "RheoWarning" && warnings.push(warning));
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  await using rheo = await openOrders([1, 2]);
  await using metrics = prometheus({ rheo, maxGroups: 2 });
  for (const group of ["a", "b", "c", "d"]) {
    await rheo.createGroup("orders", group);
    await rheo.fetch("orders", group, { limit: 10 });
  }
  const families = scrape(await metrics.text());
  expect(total(families, "rheo_deliveries_leased_total", { stream: OTHER, group: OTHER })).toBe(4);
  expect(families.get("rheo_deliveries_leased_total")?.samples).toHaveLength(3);
  expect(families.get("rheo_group_lag")?.samples).toHaveLength(2);
  expect(total(families, "rheo_telemetry_groups_left_out")).toBe(2);
  await until("the warning is out", () => warnings.length > 0);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.message).toContain("maxGroups");
});

test("one scrape looks at a supervisor once, and no more once that has stopped", async () => {
  const clock = new FrozenClock();
  await using rheo = await Rheo.open({ backend: memory(), clock });
  await using metrics = prometheus({ rheo, gaugesEveryMs: 1_000 });
  await rheo.createStream("orders");
  const consumer = {
    stream: "orders",
    group: "g",
    createGroup: {},
    partitions: "assigned" as const,
    handler: handler(() => undefined),
  };
  await using app = await supervise({ rheo, consumers: [consumer] });
  let looks = 0;
  const children = (): ReturnType<typeof app.children> => {
    looks += 1;
    return app.children();
  };
  metrics.watch({
    children,
    get state() {
      return app.state;
    },
  });
  const text = await metrics.text();
  expect(looks).toBe(1);
  expect(total(scrape(text), "rheo_consumer_slots")).toBe(8);
  expect(text, "a stream of Rheo's own").not.toContain("assignment");
  await app.stop();
  clock.advance(1_000);
  expect(total(scrape(await metrics.text()), "rheo_consumer_slots")).toBeNull();
  expect(looks).toBe(1);
});
