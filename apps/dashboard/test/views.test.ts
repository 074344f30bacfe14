/** What the views say of a store. */
import { FrozenClock, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { expect, test } from "vitest";
import { dashboardOf, problem, view } from "./fixtures/ask.ts";
import { CLOCK_START, openScene } from "./fixtures/scene.ts";

type Json = Record<string, unknown>;

const open = async () => {
  const clock = new FrozenClock(CLOCK_START);
  const scene = await openScene(clock);
  return { ...scene, clock, dashboard: dashboardOf({ rheo: scene.rheo }) };
};

test("the overview sums up what groups have left, and tells how each is doing", async () => {
  const { dashboard } = await open();
  const { totals, groups } = await view<{ totals: Json; groups: Json[] }>(dashboard, "overview");
  expect(totals).toMatchObject({ streams: 3, groups: 4, events: 16, inflight: 2, retrying: 1, deadLetters: 1, lag: 29 });
  expect(groups.map(({ group, lag, state }) => [group, lag, state])).toEqual([
    ["audit", 13, "unattended"],
    ["risk", 13, "working"],
    ["mail", 3, "paused"],
    ["billing", 0, "caught_up"],
  ]);
});

test("the overview is sorted and searched as asked", async () => {
  const { dashboard } = await open();
  const names = async (query: string): Promise<unknown[]> =>
    (await view<{ groups: Json[] }>(dashboard, `overview?${query}`)).groups.map(({ group }) => group);
  expect(await names("sort=name")).toEqual(["audit", "billing", "risk", "mail"]);
  expect(await names("sort=deadLetters")).toEqual(["risk", "audit", "billing", "mail"]);
  expect(await names("sort=lag&order=asc&search=MARKET")).toEqual(["billing", "audit", "risk"]);
});

test("a second look makes rates and a trend", async () => {
  const { dashboard, rheo, clock } = await open();
  await view(dashboard, "overview");
  await rheo.appendMany("orders", [{ payload: 1 }, { payload: 2 }]);
  clock.advance(2_000);
  await expect
    .poll(async () => {
      clock.advance(1_000);
      const { groups } = await view<{ groups: { group: string; trend: number[] }[] }>(dashboard, "overview?sort=name");
      return groups.find(({ group }) => group === "mail")?.trend;
    })
    .toEqual(expect.arrayContaining([3, 5]));
});

test("a group shows each partition's ends, who holds what, and what is settled between", async () => {
  const { dashboard } = await open();
  const { partitions, ...group } = await view<{ partitions: Json[] } & Json>(dashboard, "group?stream=market-events&group=risk");
  expect(group).toMatchObject({
    state: "working",
    lag: 13,
    inflight: 2,
    retrying: 1,
    deadLetters: 1,
    pages: 1,
    areLeasesCut: false,
  });
  const behind = partitions.find(({ lag }) => lag === 13);
  expect(behind).toMatchObject({
    frontier: 0,
    highWatermark: 13,
    holder: { sequence: 1, state: "leased", consumerId: "risk-1" },
  });
  expect(behind?.runs).toMatchObject([
    {
      count: 2,
      attempt: 1,
      spans: [
        [1, 1],
        [3, 3],
      ],
      expiresAtMs: CLOCK_START.getTime() + 60_000,
    },
  ]);
});

test("a lease that ran out is told as such", async () => {
  const { dashboard, clock } = await open();
  clock.advance(61_000);
  const { partitions } = await view<{ partitions: Json[] }>(dashboard, "group?stream=market-events&group=risk");
  expect(partitions[0]).toMatchObject({ holder: { state: "leased", expired: true } });
});

test("a dead letter has its reason, stack and content, and where the other groups stand", async () => {
  const { dashboard, dead } = await open();
  const { letters } = await view<{ letters: Json[] }>(dashboard, "dead-letters?stream=market-events&group=risk");
  expect(letters).toMatchObject([{ eventId: dead.id, reason: "no price", attempts: 1, after: null }]);
  const letter = await view<Json>(dashboard, `dead-letter?stream=market-events&group=risk&id=${dead.id}`);
  expect(letter).toMatchObject({ reason: "no price", maxAttempts: 3, stack: expect.stringContaining("Error: no price") });
  expect(letter.groups).toMatchObject([
    { group: "audit", state: "pending" },
    { group: "billing", state: "acked" },
    { group: "risk", state: "dead" },
  ]);
  expect((letter.event as { payload: Json }).payload.text).toBe('{\n  "price": 4\n}');
});

test("dead letters are found by reason and by content", async () => {
  const { dashboard } = await open();
  const found = async (query: string): Promise<number> =>
    (await view<{ letters: Json[] }>(dashboard, `dead-letters?stream=market-events&group=risk&${query}`)).letters.length;
  expect(await found("reason=NO+PRICE")).toBe(1);
  expect(await found("reason=other")).toBe(0);
  expect(await found(`where=${encodeURIComponent('{"payload.price":4}')}`)).toBe(1);
  expect(await found("type=other")).toBe(0);
});

test("the letter of a trimmed event is still found, by the one before it", async () => {
  const { dashboard, rheo, dead } = await open();
  await rheo.trim("market-events", { beforeSequence: 10, force: true });
  expect(await problem(dashboard, "dead-letter?stream=market-events&group=risk&id=other")).toEqual([404, "not_found"]);
  const { letters } = await view<{ letters: { eventId: string }[] }>(dashboard, "dead-letters?stream=market-events&group=risk");
  expect(letters).toMatchObject([{ eventId: dead.id, event: null }]);
  expect(await view(dashboard, `dead-letter?stream=market-events&group=risk&id=${dead.id}`)).toMatchObject({ event: null });
});

test("lineage goes over streams, depth first", async () => {
  const { dashboard, cause } = await open();
  const { lines } = await view<{ lines: Json[] }>(dashboard, `lineage?stream=orders&id=${cause.id}`);
  const shown = lines.map(({ type, depth, isThis }) => [type, depth, isThis]);
  expect(shown.slice(0, 2)).toEqual([
    ["requested", 0, true],
    ["placed", 1, false],
  ]);
  expect(new Set(shown.slice(2).map(String))).toEqual(new Set(["paid,2,false", "shipped,2,false"]));
});

test("the tree is that of the supervisor, cleaned of what is not data", async () => {
  const { rheo } = await openScene();
  const child = {
    id: "a/b",
    kind: "group",
    state: "running",
    restarts: 1,
    lastError: new Error("it broke"),
    details: { slots: 2, partitions: [1, 2], none: null },
    children: [],
  };
  const dashboard = dashboardOf({ rheo, app: { state: "running", children: () => [child] } });
  const { children } = await view<{ children: Json[] }>(dashboard, "tree");
  expect(children).toEqual([
    {
      id: "a/b",
      kind: "group",
      state: "running",
      restarts: 1,
      lastError: "it broke",
      details: [
        ["slots", "2"],
        ["partitions", "1, 2"],
        ["none", "–"],
      ],
      children: [],
    },
  ]);
});

test("what is not there and what is not right is told by code", async () => {
  const { dashboard } = await open();
  expect(await problem(dashboard, "stream?stream=other")).toEqual([404, "stream_not_found"]);
  expect(await problem(dashboard, "group?stream=orders&group=other")).toEqual([404, "group_not_found"]);
  expect(await problem(dashboard, "event?stream=orders&id=other")).toEqual([404, "not_found"]);
  expect(await problem(dashboard, "stream")).toEqual([400, "invalid_option"]);
  expect(await problem(dashboard, "stream?stream=..%2F")).toEqual([400, "invalid_name"]);
  expect(await problem(dashboard, "overview?sort=secret")).toEqual([400, "invalid_option"]);
  expect(await problem(dashboard, "overview?other=1")).toEqual([400, "invalid_option"]);
  expect(await problem(dashboard, "search?stream=orders&where=%7B%22x%22:1%7D")).toEqual([400, "invalid_query"]);
  expect(await problem(dashboard, "search?stream=orders&partition=-1")).toEqual([400, "invalid_option"]);
  expect(await problem(dashboard, "other")).toEqual([404, "not_found"]);
  expect(await problem(dashboard, "__proto__")).toEqual([404, "not_found"]);
});

test("nothing that is looked at changes the store", async () => {
  const { dashboard, rheo, dead, cause } = await open();
  const state = async (): Promise<string> =>
    JSON.stringify(
      await Promise.all([
        rheo.groupInfo("market-events", "risk"),
        rheo.lag("market-events", "risk"),
        rheo.leases("market-events", "risk"),
        rheo.streamInfo("orders"),
      ]),
    );
  const before = await state();
  for (const path of [
    "about",
    "overview",
    "tree",
    "stream?stream=orders",
    "group?stream=market-events&group=risk",
    "dead-letters?stream=market-events&group=risk",
    `dead-letter?stream=market-events&group=risk&id=${dead.id}`,
    `event?stream=orders&id=${cause.id}`,
    `lineage?stream=orders&id=${cause.id}`,
    "search?stream=orders",
    "tail?stream=orders",
  ])
    await view(dashboard, path);
  expect(await state()).toBe(before);
});

test("a store that has gone away is told, and what was known stays", async () => {
  const rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("orders");
  const dashboard = dashboardOf({ rheo });
  await view(dashboard, "overview");
  await rheo.close();
  expect(await problem(dashboard, "stream?stream=orders")).toEqual([503, "closed"]);
});
