/** Every metric of the catalogue is seen in a real run, on two stores, and nothing else is. */
import { Rheo } from "@rheo/core";
import type { Supervisor } from "@rheo/runtime";
import { CATALOGUE } from "@rheo/telemetry/internal";
import { prometheus } from "@rheo/telemetry/prometheus";
import { flaky } from "@rheo/testing";
import { describe, expect, test } from "vitest";
import { byHand, everything, type Stage, threadsDie } from "./fixtures/scenes.ts";
import { type Family, scrape, total } from "./fixtures/scrape.ts";
import { backendOf, STORES } from "./fixtures/stores.ts";

/** Plays scenes, and scrapes in the end. */
const play = async (
  kind: (typeof STORES)[number],
  scenes: readonly ((stage: Stage) => Promise<void>)[],
): Promise<Map<string, Family>> => {
  const { backend, remove } = await backendOf(kind);
  const store = flaky(backend, { seed: 1 });
  try {
    await using rheo = await Rheo.open({ backend: store });
    await using metrics = prometheus({ rheo, gaugesEveryMs: 100 });
    const apps: Supervisor[] = [];
    const keep = (app: Supervisor): void => {
      apps.push(app);
      metrics.watch(app);
    };
    try {
      for (const scene of scenes) await scene({ rheo, store, keep });
      return scrape(await metrics.text());
    } finally {
      await Promise.all(apps.map((app) => app.stop({ timeoutMs: 0 })));
    }
  } finally {
    await remove();
  }
};

describe.each(STORES)("on %s", (kind) => {
  test("each metric of the catalogue has a sample, and each sample is of a metric of the catalogue", async () => {
    const families = await play(kind, everything);
    expect([...families.keys()].sort()).toEqual(CATALOGUE.map(({ prometheus: name }) => name).sort());
    for (const { prometheus: name, kind: type, help, labels } of CATALOGUE) {
      const family = families.get(name);
      expect(family, name).toMatchObject({ type, help });
      expect(family?.samples.length, `${name} has no sample`).toBeGreaterThan(0);
      for (const sample of family?.samples ?? [])
        expect(
          Object.keys(sample.labels)
            .filter((label) => label !== "le")
            .every((label) => (labels as string[]).includes(label)),
          `${name} ${JSON.stringify(sample.labels)}`,
        ).toBe(true);
    }
  });

  test("counters count events and deliveries, not calls", async () => {
    const families = await play(kind, [byHand]);
    const of = { stream: "by-hand", group: "g" };
    expect(total(families, "rheo_events_appended_total")).toBe(6);
    expect(total(families, "rheo_events_duplicate_total")).toBe(1);
    expect(total(families, "rheo_deliveries_leased_total", of)).toBe(6 + 3);
    expect(total(families, "rheo_deliveries_redelivered_total", of)).toBe(1);
    expect(total(families, "rheo_leases_renewed_total", of)).toBe(6);
    for (const [state, count] of Object.entries({ acked: 2 + 3, retrying: 1, dead: 2, released: 1 }))
      expect(total(families, "rheo_deliveries_settled_total", { ...of, state }), state).toBe(count);
    expect(total(families, "rheo_leases_stale_total", { ...of, why: "settled" })).toBe(1);
    expect(total(families, "rheo_dead_letters_created_total", of)).toBe(2);
    expect(total(families, "rheo_dead_letters_purged_total", of)).toBe(1);
    expect(total(families, "rheo_deliveries_reopened_total", { ...of, by: "redrive" })).toBe(1);
    expect(total(families, "rheo_deliveries_reopened_total", { ...of, by: "replay" })).toBe(2);
    expect(total(families, "rheo_events_trimmed_total")).toBe(2);
    expect(total(families, "rheo_group_paused", of)).toBe(1);
    expect(total(families, "rheo_delivery_ack_latency_seconds_count", of)).toBe(5);
  });
});

test("a thread that exits is one death by exit, and charges what ran", async () => {
  const families = await play("memory", [threadsDie]);
  expect(total(families, "rheo_thread_deaths_total", { why: "exit" })).toBe(2);
  expect(total(families, "rheo_deliveries_charged_total")).toBe(2);
  expect(total(families, "rheo_dead_letters_created_total", { stream: "deadly" })).toBe(1);
  expect(total(families, "rheo_handler_duration_seconds_count", { stream: "deadly", outcome: "retry" })).toBe(2);
  expect(total(families, "rheo_handler_duration_seconds_count", { stream: "deadly", outcome: "ack" })).toBe(2);
});
