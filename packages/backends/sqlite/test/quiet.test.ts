/** Groups that had nothing are not looked at again until something was written: by whomever, and however. */
import { type Backend, FrozenClock } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { expect, test } from "vitest";
import {
  acks,
  event,
  fetching,
  fill,
  GROUP,
  type Handle,
  openBackend,
  openHandle,
  REAL_TIME,
  request,
} from "./fixtures/store.ts";
import { closing, temporaryFile } from "./fixtures/temporary.ts";

/** Polls until it is known to have nothing, and answered from that. */
const beQuiet = async (backend: Backend): Promise<void> => {
  for (let poll = 0; poll < 3; poll++) expect((await backend.exchange(fetching(10))).grants).toEqual([]);
};
/** How many one poll finds, and acks. */
const found = async (backend: Backend): Promise<number> => {
  const answer = await backend.exchange(fetching(10));
  await backend.exchange({ ...fetching(1, acks(answer)), fetch: null });
  return answer.grants.flatMap(({ events }) => events).length;
};

/** What was prepared on a handle that Rheo is given, each time that it is run. */
const counting = (handle: Handle): { handle: Handle; ran: string[] } => {
  const ran: string[] = [];
  const counted = (sql: string, statement: object): object =>
    new Proxy(statement, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...parameters: unknown[]): unknown => {
          if (name === "get" || name === "all" || name === "run") ran.push(sql);
          const answer: unknown = Reflect.apply(value, target, parameters);
          return answer === target || name === "raw" ? counted(sql, answer as object) : answer;
        };
      },
    });
  const proxy = new Proxy(handle, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...parameters: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, target, parameters);
        return name === "prepare" ? counted(String(parameters[0]), answer as object) : answer;
      };
    },
  });
  return { handle: proxy, ran };
};

test("a poll of a group that had nothing reads no table", async () => {
  const { handle, ran } = counting(openHandle(temporaryFile()));
  const backend = closing(sqlite({ database: handle }));
  await backend.open(REAL_TIME);
  await fill(backend, 0);
  await beQuiet(backend);
  ran.length = 0;
  await beQuiet(backend);
  expect(new Set(ran)).toEqual(new Set(["PRAGMA data_version", "SELECT total_changes()"]));
  await backend.append([request([event()])]);
  expect(await found(backend)).toBe(1);
});

test("an append here, by another connection, and in a transaction of the caller's ends it", async () => {
  const file = temporaryFile();
  const backend = await openBackend({ file });
  const other = await openBackend({ file });
  const handle = openHandle(file);
  await fill(backend, 0);
  const ways: (() => Promise<unknown>)[] = [
    () => backend.append([request([event()])]),
    () => other.append([request([event()])]),
    async () => {
      handle.exec("BEGIN IMMEDIATE");
      await backend.append([request([event()])], handle);
      await beQuiet(backend);
      handle.exec("COMMIT");
    },
  ];
  for (const way of ways) {
    await beQuiet(backend);
    await way();
    expect(await found(backend)).toBe(1);
  }
});

test("on a handle of the caller's, what is rolled back is not there, and what is committed is", async () => {
  const handle = openHandle(temporaryFile());
  const backend = closing(sqlite({ database: handle }));
  await backend.open(REAL_TIME);
  await fill(backend, 0);
  for (const [end, count] of [
    ["ROLLBACK", 0],
    ["COMMIT", 1],
  ] as const) {
    await beQuiet(backend);
    handle.exec("BEGIN IMMEDIATE");
    await backend.append([request([event()])], handle);
    handle.exec(end);
    expect(await found(backend)).toBe(count);
  }
});

test("a pause that ends, a replay and a group that is made anew are seen at once, and so is one that has gone", async () => {
  const file = temporaryFile();
  const backend = await openBackend({ file });
  const other = await openBackend({ file });
  for (const by of [backend, other]) {
    await by.deleteStream("s");
    await fill(by, 1);
    expect(await found(backend)).toBe(1);
    await by.updateGroup("s", "g", { paused: true });
    await by.append([request([event()])]);
    await beQuiet(backend);
    await by.updateGroup("s", "g", { paused: false });
    expect(await found(backend)).toBe(1);
    await beQuiet(backend);
    await by.reset("s", "g", { kind: "earliest" });
    expect(await found(backend)).toBe(2);
    await beQuiet(backend);
    await by.deleteGroup("s", "g");
    await expect(backend.exchange(fetching(1))).rejects.toMatchObject({ code: "group_not_found" });
    await by.createGroup("s", "g", GROUP, { kind: "earliest" });
    expect(await found(backend)).toBe(2);
  }
});

test("what is written while it is closed is found once it is open again", async () => {
  const file = temporaryFile();
  const backend = await openBackend({ file });
  const other = await openBackend({ file });
  await fill(other, 0);
  // connections that have just been opened, and have written nothing, look alike
  for (let round = 0; round < 3; round++) {
    await backend.close();
    await backend.open(REAL_TIME);
    await beQuiet(backend);
    await backend.close();
    await other.append([request([event()])]);
    await backend.open(REAL_TIME);
    expect(await found(backend)).toBe(1);
  }
});

test("time alone gives back what is leased, and what waits for its retry", async () => {
  const clock = new FrozenClock();
  const backend = await openBackend({}, { ...REAL_TIME, clock });
  await fill(backend, 2);
  const { grants } = await backend.exchange(fetching(1));
  const outcome = { kind: "retry", delayMs: 5_000, reason: "later", stack: null } as const;
  const settlements = acks({ settled: [], grants, more: false, died: [] }).map((settlement) => ({ ...settlement, outcome }));
  await backend.exchange({ ...fetching(1, settlements), fetch: null });
  expect((await backend.exchange(fetching(1))).grants).toHaveLength(1); // the other, held
  await beQuiet(backend);
  clock.advance(5_000);
  expect(await found(backend)).toBe(1);
  await beQuiet(backend);
  clock.advance(GROUP.leaseMs);
  expect(await found(backend)).toBe(1);
});
