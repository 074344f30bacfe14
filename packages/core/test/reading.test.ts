import { type Event, FrozenClock, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import fc from "fast-check";
import { expect, test } from "vitest";

const filled = async (counts: readonly number[]): Promise<{ rheo: Rheo; clock: FrozenClock }> => {
  const clock = new FrozenClock();
  const rheo = await Rheo.open({ backend: memory(), clock });
  await rheo.createStream("s", { partitions: counts.length });
  for (const [partition, count] of counts.entries()) {
    for (let n = 0; n < count; n++) {
      clock.advance(7 % (partition + 1));
      await rheo.append("s", { partition, payload: { n, even: n % 2 === 0 } });
    }
  }
  return { rheo, clock };
};

const places = (events: readonly Event[]): string[] => events.map((event) => `${event.partition}@${event.sequence}`);

test("O18 · pages neither skip nor repeat over any partitions, in either order, also while appends go on", async () => {
  const scenario = fc.record({
    counts: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 4 }),
    limit: fc.integer({ min: 1, max: 5 }),
    order: fc.constantFrom("asc" as const, "desc" as const),
    filtered: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ counts, limit, order, filtered }) => {
      const { rheo } = await filled(counts);
      const query = { order, limit, ...(filtered ? { where: { "payload.even": true } } : {}) };
      const before = new Set(places(await rheo.query("s", { ...query, limit: 10_000 })));
      const seen: string[] = [];
      for (let cursor: string | null = null, page = 0; page < 100; page++) {
        const answer: { events: readonly Event[]; nextCursor: string | null } = await rheo.queryPage("s", { ...query, cursor });
        seen.push(...places(answer.events));
        cursor = answer.nextCursor;
        if (page < 5) await rheo.append("s", { payload: { n: 100 + page, even: true } });
        if (cursor === null) break;
      }
      expect(new Set(seen).size).toBe(seen.length);
      for (const place of before) expect(seen).toContain(place);
      for (const [partition] of counts.entries()) {
        const own = seen.filter((place) => place.startsWith(`${partition}@`)).map((place) => Number(place.split("@")[1]));
        expect(own).toEqual([...own].sort((a, b) => (order === "asc" ? a - b : b - a)));
      }
      await rheo.close();
    }),
    { numRuns: 60 },
  );
});

test("partitions are merged by time", async () => {
  const clock = new FrozenClock(new Date(0));
  await using rheo = await Rheo.open({ backend: memory(), clock });
  await rheo.createStream("s", { partitions: 2 });
  for (const [partition, at] of [
    [0, 10],
    [0, 30],
    [1, 20],
    [1, 40],
  ] as const)
    await rheo.append("s", { partition, timestamp: new Date(at), payload: at });
  expect((await rheo.query("s")).map((event) => event.payload)).toEqual([10, 20, 30, 40]);
  expect((await rheo.query("s", { order: "desc" })).map((event) => event.payload)).toEqual([40, 30, 20, 10]);
  expect((await rheo.query("s", { from: new Date(20), to: new Date(40) })).map((event) => event.payload)).toEqual([20, 30]);
  expect((await rheo.query("s", { afterSequence: { 0: 1 }, untilSequence: 1 })).map((event) => event.payload)).toEqual([20]);
});

test("a cursor is refused with another query, and when it is not one", async () => {
  const { rheo } = await filled([5]);
  const { nextCursor } = await rheo.queryPage("s", { limit: 2 });
  await expect(rheo.queryPage("s", { limit: 2, order: "desc", cursor: nextCursor })).rejects.toMatchObject({
    code: "invalid_query",
  });
  for (const cursor of ["", "x", Buffer.from("[1,2]").toString("base64url"), "a".repeat(100_000)]) {
    await expect(rheo.queryPage("s", { limit: 2, cursor })).rejects.toMatchObject({ code: "invalid_query" });
  }
  expect((await rheo.queryPage("s", { limit: 4, cursor: nextCursor })).events).toHaveLength(3);
  await rheo.close();
});

test("tail gives history, then what is appended, without a gap or repeat at the seam, and ends when aborted", async () => {
  await using rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("s", { partitions: 3 });
  const end = new AbortController();
  const appendAll = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) await rheo.append("s", { payload: n });
  };
  await appendAll(0, 50);
  const seen: unknown[] = [];
  const appending = appendAll(50, 200);
  for await (const event of rheo.tail("s", { signal: end.signal })) {
    seen.push(event.payload);
    if (seen.length === 200) end.abort();
  }
  await appending;
  expect([...seen].sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 200 }, (_, n) => n));
});
