/** Calls that wait together share a transaction, and one that fails takes nothing of the others with it. */
import type { Backend } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { acks, drain, event, fetching, fill, GROUP, OPTIONS, request, STREAM, settling } from "@rheo/testing/internal";
import { afterEach, describe, expect, test } from "vitest";
import { newDirectory, openBackend } from "./fixtures/store.ts";

const opened: Backend[] = [];
const start = async (durability: "sync" | "relaxed" = "relaxed"): Promise<Backend> => {
  const backend = await openBackend({ path: newDirectory(), durability });
  opened.push(backend);
  return backend;
};

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

describe.each(["sync", "relaxed"] as const)("%s", (durability) => {
  test("calls that are not awaited are done in order, and each gets its own answer", async () => {
    const backend = await start(durability);
    const made = backend.createStream(STREAM, 1);
    const group = backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const appended = Promise.all(Array.from({ length: 700 }, () => backend.append([request(1)])));
    const fetched = backend.exchange(fetching(1_000));
    const watermarks = backend.watermarks(STREAM);
    expect((await made).created).toBe(true);
    expect((await group).created).toBe(true);
    const sequences = (await appended).map(([answer]) => (answer?.kind === "appended" ? answer.events[0]?.sequence : null));
    expect(sequences).toEqual(Array.from({ length: 700 }, (_, index) => index + 1));
    expect((await fetched).grants[0]?.events).toHaveLength(700);
    expect((await watermarks)[0]?.highWatermark).toBe(700);
  });

  test("one that throws among others is refused alone", async () => {
    const backend = await start(durability);
    await fill(backend, 3);
    const results = await Promise.allSettled([
      backend.append([request(2)]),
      backend.getGroup(STREAM, "none"),
      backend.exchange({ ...fetching(1), group: "none" }),
      backend.append([request(1)]),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(await drain(backend, 10)).toBe(6);
  });

  test("what was asked for before it was closed is done", async () => {
    const backend = await start(durability);
    await fill(backend, 1);
    const appended = backend.append([request(5)]);
    const closed = backend.close();
    expect((await appended)[0]?.kind).toBe("appended");
    await closed;
    await expect(backend.append([request(1)])).rejects.toMatchObject({ code: "closed" });
    await backend.open({ clock: null, migrate: true });
    expect((await backend.watermarks(STREAM))[0]?.highWatermark).toBe(6);
  });
});

test("a call that fails half way leaves nothing behind, neither in the store nor in memory", async () => {
  const backend = await start();
  await fill(backend, 100);
  const { grants } = await backend.exchange(fetching(10));
  const before = await standing(backend);
  // writes the settlements, and then finds that it cannot go on
  const broken = new Proxy(fetching(5, acks(grants)), {
    get: (target, name, receiver) => {
      const value: unknown = Reflect.get(target, name, receiver);
      if (name !== "fetch") return value;
      return new Proxy(value as object, {
        get: (fetch, field) => {
          if (field === "consumerId") throw new TypeError("half way");
          return Reflect.get(fetch, field);
        },
      });
    },
  });
  const failed = await Promise.allSettled([backend.append([request(1)]), backend.exchange(broken), backend.append([request(1)])]);
  expect(failed.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const [progress] = before.progress;
  expect(await standing(backend)).toEqual({ ...before, progress: [{ ...progress, highWatermark: 102 }] });
  expect(await drain(backend, 50)).toBe(92);
  await backend.exchange(settling(acks(grants)));
  expect((await backend.progress(STREAM, GROUP))[0]).toMatchObject({ frontier: 102, highWatermark: 102 });
});

const standing = async (backend: Backend) => ({
  progress: await backend.progress(STREAM, GROUP),
  leases: await backend.leases(STREAM, GROUP, 100),
  stats: { ...(await backend.groupStats(STREAM, GROUP)), members: null },
});

test("an id that is there already costs the new events beside it nothing", async () => {
  const backend = await start();
  await fill(backend, 0);
  const [first, second, third] = [event(1), event(2), event(3)];
  const append = (...events: readonly ReturnType<typeof event>[]) => backend.append([{ stream: STREAM, partitions: 1, events }]);
  await append(second);
  const [answer] = await append(first, second, third);
  expect(answer).toMatchObject({ kind: "appended", events: [{ sequence: 2 }, { sequence: 1 }, { sequence: 3 }] });
  const [refused] = await append(event(4), { ...second, payload: "5" });
  expect(refused).toMatchObject({ kind: "id_conflict", index: 1 });
  const ids = [first, second, third].map(({ id }) => id);
  expect((await backend.readIds(STREAM, ids)).map((found) => found?.sequence)).toEqual([2, 1, 3]);
  expect((await backend.watermarks(STREAM))[0]?.highWatermark).toBe(3);
});

test("a loop of calls leaves timers their turn", async () => {
  const backend = await start();
  await fill(backend, 0);
  let fired = false;
  setImmediate(() => {
    fired = true;
  });
  let calls = 0;
  for (; !fired && calls < 1_000; calls++) await backend.append([request(1)]);
  expect(calls).toBeLessThan(1_000);
});

test("what is thrown is an error with a code", async () => {
  const backend = await start();
  const error = await backend.watermarks("none").catch((thrown: unknown) => thrown);
  expect(RheoError.is(error, "stream_not_found")).toBe(true);
});
