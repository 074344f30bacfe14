/** Long lists, page by page: everything once, and never much at a time. */
import { FrozenClock, Rheo, reject } from "@rheo/core";
import { memory } from "@rheo/memory";
import { firstSeed, seeded } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";
import { dashboardOf, problem, view } from "./fixtures/ask.ts";

interface SearchPage {
  readonly events: readonly { readonly id: string; readonly timestampMs: number }[];
  readonly next: string | null;
  readonly examined: number;
  readonly total: number;
}
interface LetterPage {
  readonly letters: readonly { readonly eventId: string }[];
  readonly next: string | null;
  readonly examined: number;
}

const open = async (partitions: number, events: number, payload: (n: number) => unknown = (n) => ({ n })) => {
  const rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  await rheo.createStream("orders", { partitions });
  await rheo.createGroup("orders", "billing");
  for (let at = 0; at < events; at += 500) {
    const batch = Array.from({ length: Math.min(500, events - at) }, (_, n) => ({
      key: `k${(at + n) % 97}`,
      payload: payload(at + n),
    }));
    await rheo.appendMany("orders", batch);
  }
  return { rheo, dashboard: dashboardOf({ rheo }) };
};

const searchAll = async (
  dashboard: Parameters<typeof view>[0],
  query: string,
): Promise<{ ids: string[]; pages: SearchPage[] }> => {
  const pages: SearchPage[] = [];
  for (let cursor: string | null = ""; cursor !== null; cursor = pages.at(-1)?.next ?? null)
    pages.push(await view<SearchPage>(dashboard, `search?stream=orders&${query}&cursor=${encodeURIComponent(cursor)}`));
  return { ids: pages.flatMap(({ events }) => events.map(({ id }) => id)), pages };
};

const lettersAll = async (
  dashboard: Parameters<typeof view>[0],
  query: string,
): Promise<{ ids: string[]; pages: LetterPage[] }> => {
  const pages: LetterPage[] = [];
  for (let after: string | null = ""; after !== null; after = pages.at(-1)?.next ?? null)
    pages.push(await view<LetterPage>(dashboard, `dead-letters?stream=orders&group=billing&${query}&after=${after}`));
  return { ids: pages.flatMap(({ letters }) => letters.map(({ eventId }) => eventId)), pages };
};

describe("search", () => {
  test("goes over every match once, whatever is asked for", async () => {
    const seed = firstSeed(Math.floor(Math.random() * 2 ** 31));
    const random = seeded(seed);
    const { rheo, dashboard } = await open(5, 3_000);
    await rheo.trim("orders", { beforeSequence: 40, force: true });
    for (let turn = 0; turn < 12; turn++) {
      const least = random.below(3_200);
      const partition = random.chance(0.4) ? random.below(5) : null;
      const where = random.chance(0.3) ? {} : { "payload.n": { gte: least } };
      const query = `where=${encodeURIComponent(JSON.stringify(where))}${partition === null ? "" : `&partition=${partition}`}`;
      const expected = await rheo.query("orders", { where, limit: 10_000, ...(partition === null ? {} : { partition }) });
      const { ids, pages } = await searchAll(dashboard, query);
      const about = `seed ${seed}, turn ${turn}: ${query}`;
      expect([...ids].sort(), about).toEqual(expected.map(({ id }) => id).sort());
      expect(pages.at(-1)?.examined, about).toBe(pages[0]?.total);
      expect(Math.max(...pages.map(({ events }) => events.length)), about).toBeLessThanOrEqual(50);
    }
  });

  test("neither repeats nor skips what is appended meanwhile", async () => {
    const { rheo, dashboard } = await open(3, 400);
    const before = (await rheo.query("orders", { limit: 10_000 })).map(({ id }) => id);
    const first = await view<SearchPage>(dashboard, "search?stream=orders");
    await rheo.appendMany(
      "orders",
      Array.from({ length: 90 }, (_, n) => ({ payload: { n } })),
    );
    const { ids } = await searchAll(dashboard, "");
    expect(ids.length).toBe(490);
    const rest: string[] = first.events.map(({ id }) => id);
    for (let cursor = first.next; cursor !== null; ) {
      const page: SearchPage = await view(dashboard, `search?stream=orders&cursor=${encodeURIComponent(cursor)}`);
      rest.push(...page.events.map(({ id }) => id));
      cursor = page.next;
    }
    expect(rest.sort()).toEqual(before.sort());
  });

  test("the newest come first", async () => {
    const { dashboard } = await open(4, 500);
    const { events } = await view<SearchPage>(dashboard, "search?stream=orders");
    const times = events.map(({ timestampMs }) => timestampMs);
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });

  test("cursors that no search gave are refused", async () => {
    const { dashboard } = await open(1, 10);
    for (const cursor of ["x", "{}", "[1]", '[["a",1]]', "[[0,-1]]", "[[0,1.5]]"])
      expect(await problem(dashboard, `search?stream=orders&cursor=${encodeURIComponent(cursor)}`), cursor).toEqual([
        400,
        "invalid_option",
      ]);
    expect(
      (await view<SearchPage>(dashboard, `search?stream=orders&cursor=${encodeURIComponent("[[0,999],[7,7]]")}`)).events,
    ).toHaveLength(10);
  });
});

describe("dead letters", () => {
  const killAll = async (rheo: Rheo): Promise<void> => {
    for (
      let leases = await rheo.fetch("orders", "billing", { limit: 5_000 });
      leases.length > 0;
      leases = await rheo.fetch("orders", "billing", { limit: 5_000 })
    )
      await rheo.settle(leases.map((lease) => ({ lease, outcome: reject(`no price for ${lease.event.key}`) })));
  };

  test("are gone through once, fifty at a time", async () => {
    const { rheo, dashboard } = await open(3, 260);
    await killAll(rheo);
    const { ids, pages } = await lettersAll(dashboard, "");
    expect(new Set(ids).size).toBe(260);
    expect(ids).toHaveLength(260);
    expect(pages.map(({ letters }) => letters.length)).toEqual([50, 50, 50, 50, 50, 10]);
  });

  test("a page ends where it is full, also amid what was read", async () => {
    const { rheo, dashboard } = await open(1, 300);
    await killAll(rheo);
    const { ids, pages } = await lettersAll(dashboard, `where=${encodeURIComponent('{"payload.n":{"gte":30}}')}`);
    expect(new Set(ids).size).toBe(270);
    expect(pages.map(({ letters }) => letters.length)).toEqual([50, 50, 50, 50, 50, 20]);
  });

  test("a filter that matches little looks through so many and stops, and can be gone on from", async () => {
    const { rheo, dashboard } = await open(2, 12_000);
    await killAll(rheo);
    const { ids, pages } = await lettersAll(dashboard, `where=${encodeURIComponent('{"payload.n":{"in":[7,11999]}}')}`);
    expect(ids).toHaveLength(2);
    expect(Math.max(...pages.map(({ examined }) => examined))).toBeLessThanOrEqual(5_000);
    expect(pages.reduce((sum, { examined }) => sum + examined, 0)).toBe(12_000);
  });
});

test("answers stay small, however large the payloads, the store and its groups are", async () => {
  const { rheo, dashboard } = await open(1_024, 1_200, () => ({ text: "x".repeat(20_000) }));
  for (let group = 0; group < 60; group++) await rheo.createGroup("orders", `group-${group}`);
  await rheo.fetch("orders", "billing", { limit: 5_000 });
  const event = await rheo.append("orders", { payload: { text: "é".repeat(500_000) } });
  for (const path of [
    "overview",
    "stream?stream=orders",
    "group?stream=orders&group=billing",
    "search?stream=orders",
    "tail?stream=orders",
    `event?stream=orders&id=${event.id}`,
  ]) {
    const size = JSON.stringify(await view(dashboard, path)).length;
    expect(size, path).toBeLessThan(250_000);
  }
});
