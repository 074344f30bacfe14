/** Prefix visibility and what others see while a transaction is open, or its process is dead (L1, T8). */
import type { Backend } from "@rheo/core";
import { startMongo } from "@rheo/testing/servers";
import { type ClientSession, MongoClient } from "mongodb";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { ackOf, acks, drain, fetching, fill, GROUP, OPTIONS, openBackend, request, STREAM, settling } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
const client = await new MongoClient(server.url).connect();
afterAll(async () => {
  await client.close();
  await server.stop();
});

let backend: Backend;
let database: string;
beforeEach(async () => {
  database = newDatabase();
  backend = await openBackend({ client, database, notify: false, conflictTimeoutMs: 150 });
});
afterEach(async () => {
  await backend.close();
  await client.db(database).dropDatabase();
});

const begin = (): ClientSession => {
  const session = client.startSession();
  session.startTransaction();
  return session;
};

const sequences = async (): Promise<number[]> => {
  const all = { stream: STREAM, partition: 0, after: 0, until: null, order: "asc", limit: 100, maxBytes: 1e9 } as const;
  return (await backend.read(all)).map(({ sequence }) => sequence);
};

describe("a writer that is paused between its steps", () => {
  test("is seen by nobody, and who appends meanwhile is told that nothing was written, or waits for its end", async () => {
    await fill(backend, 2);
    const paused = begin();
    expect(await backend.append([request(3)], paused)).toMatchObject([{ kind: "appended", events: [{ sequence: 3 }, {}, {}] }]);
    expect(await sequences()).toEqual([1, 2]);
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
    expect(await drain(backend, 10)).toBe(2);
    await expect(backend.append([request(1)])).rejects.toMatchObject({ code: "unavailable" });
    const patient = await openBackend({ client, database, notify: false });
    const waiting = patient.append([request(1)]);
    await paused.commitTransaction();
    await paused.endSession();
    expect(await waiting).toMatchObject([{ events: [{ sequence: 6 }] }]);
    expect(await sequences()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await drain(backend, 10)).toBe(4);
    await patient.close();
  });

  test("holds up no other partition", async () => {
    await backend.createStream(STREAM, 2);
    const paused = begin();
    await backend.append([{ ...request(1, 2), partitions: 2 }], paused);
    const other = request(2, 2);
    const second = { ...other, events: other.events.filter(({ partition }) => partition === 1) };
    expect(await backend.append([second])).toMatchObject([{ kind: "appended", events: [{ sequence: 1 }] }]);
    await paused.abortTransaction();
    await paused.endSession();
  });
});

test.skipIf(server.real)(
  "a writer that died half way leaves nothing, and holds others up for a transaction's lifetime at most",
  async () => {
    await fill(backend, 1);
    await server.setLifetime(400);
    const dead = begin();
    await backend.append([request(3)], dead);
    await expect(backend.append([request(1)])).rejects.toMatchObject({ code: "unavailable" });
    const patient = await openBackend({ client, database, notify: false });
    expect(await patient.append([request(1)])).toMatchObject([{ events: [{ sequence: 2 }] }]);
    expect(await sequences()).toEqual([1, 2]);
    await patient.close();
    await dead.endSession();
    await server.setLifetime(60_000);
  },
);

test("of writers that race, each gets its own sequences, without a gap", async () => {
  await backend.createStream(STREAM, 1);
  const writers = await Promise.all(Array.from({ length: 4 }, () => openBackend({ client, database, notify: false })));
  await Promise.all(
    writers.map(async (writer) => {
      for (let n = 0; n < 8; n++) await writer.append([request(2)]);
    }),
  );
  expect(await sequences()).toEqual(Array.from({ length: 64 }, (_, index) => index + 1));
  for (const writer of writers) await writer.close();
});

test("fetches that race give each event once", async () => {
  await fill(backend, 60);
  const members = await Promise.all(Array.from({ length: 4 }, () => openBackend({ client, database, notify: false })));
  const seen: number[] = [];
  await Promise.all(
    members.map(async (member, index) => {
      for (let empty = 0; empty < 3; ) {
        const { grants, more } = await member.exchange(fetching(5, [], `m${index}`));
        seen.push(...grants.flatMap(({ events }) => events.map(({ sequence }) => sequence)));
        if (grants.length > 0) await member.exchange(settling(acks(grants)));
        else if (!more) empty += 1;
      }
    }),
  );
  expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 60 }]);
  for (const member of members) await member.close();
});

test("fetches that race in different partitions stay within maxInflight together (G8)", async () => {
  await backend.createStream(STREAM, 4);
  await backend.createGroup(STREAM, GROUP, { ...OPTIONS, maxInflight: 3 }, { kind: "earliest" });
  await backend.append([request(40, 4)]);
  const members = await Promise.all(Array.from({ length: 4 }, () => openBackend({ client, database, notify: false })));
  const one = fetching(3).fetch;
  await Promise.all(
    members.map((member, partition) =>
      member.exchange({
        ...fetching(3),
        fetch: one === null ? null : { ...one, consumerId: `m${partition}`, partitions: [partition] },
      }),
    ),
  );
  expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 3 });
  for (const member of members) await member.close();
});

describe("the caller's transaction", () => {
  test("keeps a takeover out while it is open, and is fenced by one that came before", async () => {
    await fill(backend, 2, { leaseMs: 1 });
    const { grants } = await backend.exchange(fetching(2));
    const holder = begin();
    expect((await backend.exchange(settling([ackOf(grants[0], 1)], holder))).settled).toEqual([[{ state: "acked" }]]);
    // a takeover of its partition has to wait; nothing is lost by that
    expect(await backend.exchange(fetching(2, [], "b"))).toMatchObject({ grants: [], more: true });
    await holder.abortTransaction();
    await holder.endSession();
    const taken = await backend.exchange(fetching(2, [], "b"));
    expect(taken.grants[0]?.token).toBeGreaterThan(grants[0]?.token ?? 0);
    const late = begin();
    expect((await backend.exchange(settling([ackOf(grants[0], 1)], late))).settled).toEqual([
      [{ state: "stale", why: "reclaimed" }],
    ]);
    await late.abortTransaction();
    await late.endSession();
  });

  test("is run again by withTransaction when somebody was faster", async () => {
    await fill(backend, 2);
    const { grants } = await backend.exchange(fetching(2));
    let runs = 0;
    await client.withSession((session) =>
      session.withTransaction(async () => {
        runs += 1;
        // the snapshot is taken, and then somebody else settles in the same partition
        await client.db(database).collection("rheo_streams").findOne({}, { session });
        if (runs === 1) await backend.exchange(settling([ackOf(grants[0], 2)]));
        await backend.exchange(settling([ackOf(grants[0], 1)], session));
      }),
    );
    expect(runs).toBe(2);
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 2 }]);
  });

  test("of another client is joined, if it is of the same deployment", async () => {
    await fill(backend, 1);
    const other = await new MongoClient(server.url).connect();
    await other.withSession((session) => session.withTransaction(() => backend.append([request(1)], session)));
    expect(await sequences()).toEqual([1, 2]);
    await other.close();
  });

  test.each([
    ["an object", () => ({})],
    ["a session without a transaction", () => client.startSession()],
  ])("is refused when it is %s", async (_, made) => {
    await fill(backend, 1);
    await expect(backend.append([request(1)], made())).rejects.toMatchObject({ code: "invalid_option" });
    expect(await sequences()).toEqual([1]);
  });

  test("counts of exceptions survive whatever order they come in", async () => {
    await fill(backend, 4, OPTIONS);
    const { grants } = await backend.exchange(fetching(4));
    const retry = { kind: "retry", delayMs: 0, reason: "r", stack: null } as const;
    await backend.exchange(settling([{ ...ackOf(grants[0], 1), sequences: [1, 3], outcome: retry }]));
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ retrying: 2, inflight: 2 });
    const again = await backend.exchange(fetching(4));
    await backend.exchange(settling([...acks(again.grants), ackOf(grants[0], 2), ackOf(grants[0], 4)]));
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 4 }]);
    const heads = await client
      .db(database)
      .collection("rheo_progress")
      .find({ cursor: { $exists: true } })
      .toArray();
    expect(heads).toMatchObject([{ exceptions: 0, leased: 0, dueAtMs: null }]);
  });
});
