import { type AppendRequest, type Backend, FrozenClock, Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { expect, test } from "vitest";

/** A memory store that notes the requests of each write. */
const noting = (): { backend: Backend; writes: (readonly AppendRequest[])[] } => {
  const backend = memory();
  const writes: (readonly AppendRequest[])[] = [];
  const append = backend.append.bind(backend);
  backend.append = (requests, transaction) => {
    writes.push(requests);
    return append(requests, transaction);
  };
  return { backend, writes };
};

test("L5 · concurrent appends share a write, and each gets its own answer", async () => {
  const { backend, writes } = noting();
  await using rheo = await Rheo.open({ backend, clock: new FrozenClock() });
  await rheo.createStream("s");
  await rheo.append("s", { id: "taken", payload: 1 });
  writes.length = 0;
  const answers = await Promise.allSettled([
    ...Array.from({ length: 50 }, (_, payload) => rheo.append("s", { payload })),
    rheo.append("s", { id: "taken", payload: 2 }),
    rheo.append("s", { payload: 3, expectedSequence: 1 }),
    rheo.append("missing", { payload: 3 }),
  ]);
  expect(writes.length).toBeLessThanOrEqual(2);
  const codes = answers.flatMap((answer) =>
    answer.status === "rejected" && RheoError.is(answer.reason) ? [answer.reason.code] : [],
  );
  expect(codes).toEqual(["id_conflict", "sequence_conflict", "stream_not_found"]);
  expect((await rheo.streamInfo("s")).events).toBe(51);
});

test("L5 · waiting calls share a write until it has 1,000 events", async () => {
  const { backend, writes } = noting();
  await using rheo = await Rheo.open({ backend, clock: new FrozenClock() });
  await rheo.createStream("s");
  const batch = Array.from({ length: 600 }, (_, payload) => ({ payload }));
  await Promise.all(Array.from({ length: 5 }, () => rheo.appendMany("s", batch)));
  expect(writes.map((requests) => requests.length)).toEqual([2, 2, 1]);
});

test("L5 · a write is bounded: a call of 500 events and one of 10,000 go in two", async () => {
  const { backend, writes } = noting();
  await using rheo = await Rheo.open({ backend, clock: new FrozenClock() });
  await rheo.createStream("s");
  const sized = (length: number) => Array.from({ length }, (_, payload) => ({ payload }));
  await Promise.all([rheo.appendMany("s", sized(500)), rheo.appendMany("s", sized(10_000))]);
  expect(writes.map((requests) => requests.length)).toEqual([1, 1]);
});

test("L5 · appends called one after the other without waiting keep their order, over many writes", async () => {
  const { backend, writes } = noting();
  await using rheo = await Rheo.open({ backend, clock: new FrozenClock() });
  await rheo.createStream("s", { partitions: 1 });
  const calls = Array.from({ length: 30 }, (_, call) =>
    rheo.appendMany(
      "s",
      Array.from({ length: 100 }, () => ({ payload: call })),
    ),
  );
  const appended = await Promise.all(calls);
  expect(appended.flat().map(({ sequence }) => sequence)).toEqual(Array.from({ length: 3_000 }, (_, index) => index + 1));
  expect(writes.length).toBe(3);
});

/** How many writes of two such calls, made one after the other, a store is given before it has answered the first. */
const underWay = async (size: number, appendsInCallOrder: boolean): Promise<number> => {
  const backend = memory();
  const capabilities = { ...backend.capabilities, appendsInCallOrder };
  const append = backend.append.bind(backend);
  let begun = 0;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const slow = Object.assign(backend, {
    capabilities,
    append: async (requests: readonly AppendRequest[]) => {
      begun += 1;
      await answered;
      return append(requests);
    },
  });
  await using rheo = await Rheo.open({ backend: slow, clock: new FrozenClock() });
  await rheo.createStream("s", { partitions: 1 });
  const events = Array.from({ length: size }, (_, payload) => ({ payload }));
  const first = rheo.appendMany("s", events);
  await new Promise((resolve) => setImmediate(resolve));
  const others = [rheo.appendMany("s", events), rheo.appendMany("s", events)];
  await new Promise((resolve) => setImmediate(resolve));
  const seen = begun;
  answer();
  expect((await Promise.all([first, ...others])).flat()).toHaveLength(3 * size);
  return seen;
};

test("L5 · a full write is sent behind another where the store keeps them in order, a small one waits for more", async () => {
  expect(await underWay(1_000, true)).toBe(2);
  expect(await underWay(1_000, false)).toBe(1);
  expect(await underWay(400, true)).toBe(1);
});

test("L3 · an instance that remembers another partition count routes anew, so a key stays in one partition for all", async () => {
  const backend = memory();
  await using stale = await Rheo.open({ backend, clock: new FrozenClock() });
  await using other = await Rheo.open({ backend, clock: new FrozenClock() });
  await stale.createStream("s", { partitions: 1 });
  await stale.append("s", { key: "foobar", payload: 1 });
  await other.deleteStream("s", { confirm: true });
  await other.createStream("s", { partitions: 16 });
  const [mine, theirs] = [
    await stale.append("s", { key: "foobar", payload: 1 }),
    await other.append("s", { key: "foobar", payload: 1 }),
  ];
  expect([mine.partition, theirs.partition]).toEqual([14, 14]);
});

test("B77 · close waits for the append that is under way, then refuses others", async () => {
  const rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("s");
  const appending = rheo.append("s", { payload: 1 });
  const closing = rheo.close();
  await expect(rheo.append("s", { payload: 2 })).rejects.toMatchObject({ code: "closed" });
  expect((await appending).sequence).toBe(1);
  await closing;
  await rheo.close();
});
