/** Answers that are lost, writes that conflict, servers that go away: what is said of it, and what is left (F7). */
import type { Backend, SettleOutcome } from "@rheo/core";
import { runModel, scripts } from "@rheo/testing/internal";
import { type MongoFault, startMongo } from "@rheo/testing/servers";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { ackOf, drain, event, fetching, fill, GROUP, insist, openBackend, STREAM, settling } from "./fixtures/scene.ts";
import { newDatabase, openStore } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

let backend: Backend;
beforeEach(async () => {
  backend = await openBackend({ url: server.url, database: newDatabase(), notify: false, connectTimeoutMs: 2_000 });
});
afterEach(async () => {
  await server.clearFaults();
  await backend.close();
});

/** More than what is sent again by itself. */
const ALWAYS = 100;
const UNKNOWN = { code: "outcome_unknown" };

describe.skipIf(server.real)("faults", () => {
  const lost: readonly (readonly [string, MongoFault])[] = [
    ["the answer to a commit", { kind: "dropAnswer", command: "commitTransaction" }],
    ["a commit", { kind: "dropCommand", command: "commitTransaction" }],
    ["the answer to a write", { kind: "dropAnswer", command: "update" }],
    ["the answer to an insert", { kind: "dropAnswer", command: "insert" }],
    ["the answer to a read", { kind: "dropAnswer", command: "find" }],
    ["a write, to a conflict", { kind: "conflict", command: "update" }],
    ["an insert, to a conflict", { kind: "conflict", command: "insert" }],
    ["a commit, to a conflict", { kind: "conflict", command: "commitTransaction" }],
  ];
  test.each(lost)("losing %s once is not noticed: an append is stored once, and a settle works once", async (_, fault) => {
    await fill(backend, 2);
    await server.addFault(fault);
    const one = [{ stream: STREAM, partitions: 1, events: [event({ n: 1 }), event({ n: 2 })] }];
    expect(await backend.append(one)).toMatchObject([{ kind: "appended", events: [{ sequence: 3 }, { sequence: 4 }] }]);
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 4 }]);
    await server.clearFaults();
    const { grants } = await backend.exchange(fetching(4));
    await server.addFault(fault);
    expect((await backend.exchange(settling([ackOf(grants[0], 2)]))).settled).toEqual([[{ state: "acked" }]]);
    await server.clearFaults();
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 3 });
  });

  test("an append whose commit is never answered is outcome_unknown, and repeated under its id it is stored once", async () => {
    await fill(backend, 2);
    const one = [{ stream: STREAM, partitions: 1, events: [event({ n: 1 }), event({ n: 2 })] }];
    await server.addFault({ kind: "dropAnswer", command: "commitTransaction", times: ALWAYS });
    await expect(backend.append(one)).rejects.toMatchObject(UNKNOWN);
    await server.clearFaults();
    expect(await backend.append(one)).toMatchObject([{ kind: "appended", events: [{ sequence: 3 }, { sequence: 4 }] }]);
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 4 }]);
    expect(await drain(backend, 10)).toBe(4);
  });

  const outcomes: readonly SettleOutcome[] = [
    { kind: "ack" },
    { kind: "retry", delayMs: 60_000, reason: "r", stack: null },
    { kind: "reject", reason: "r", stack: null },
    { kind: "release" },
  ];
  test.each(outcomes)(
    "a settle ($kind) whose commit is never answered is outcome_unknown, and repeated it is settled",
    async (outcome) => {
      await fill(backend, 3);
      const { grants } = await backend.exchange(fetching(3));
      const settlement = { ...ackOf(grants[0], 2), outcome };
      await server.addFault({ kind: "dropAnswer", command: "commitTransaction", times: ALWAYS });
      await expect(backend.exchange(settling([settlement]))).rejects.toMatchObject(UNKNOWN);
      await server.clearFaults();
      expect((await backend.exchange(settling([settlement]))).settled).toEqual([[{ state: "stale", why: "settled" }]]);
      expect((await backend.exchange(settling([ackOf(grants[0], 1), ackOf(grants[0], 3)]))).settled.flat()).toEqual([
        { state: "acked" },
        { state: "acked" },
      ]);
    },
  );

  test("a write that never gets through is unavailable, and nothing of it is left", async () => {
    await fill(backend, 2);
    await server.addFault({ kind: "dropCommand", command: "insert", times: ALWAYS });
    await expect(backend.append([{ stream: STREAM, partitions: 1, events: [event()] }])).rejects.toMatchObject({
      code: "unavailable",
    });
    await server.clearFaults();
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
  });

  test("a primary that steps down and comes back is waited for", async () => {
    await fill(backend, 2);
    await server.stepDown(300);
    await insist(() => backend.append([{ stream: STREAM, partitions: 1, events: [event()] }]));
    expect(await insist(() => drain(backend, 10))).toBe(3);
  });

  test("a server that was killed and restarted has what was acknowledged, and goes on", async () => {
    await fill(backend, 5);
    const { grants } = await backend.exchange(fetching(3));
    await server.kill();
    await server.restart();
    expect(await insist(() => backend.watermarks(STREAM))).toMatchObject([{ highWatermark: 5 }]);
    expect((await backend.exchange(settling([ackOf(grants[0], 1)]))).settled).toEqual([[{ state: "acked" }]]);
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 2 });
  });

  test("random commands do what the model says although every tenth write in a transaction conflicts", {
    timeout: 120_000,
  }, async () => {
    await server.addFault({ kind: "conflict", command: "update", probability: 0.1, seed: 11 });
    const store = { name: "mongo with conflicts", open: () => openStore(server.url) };
    await fc.assert(
      fc.asyncProperty(scripts, async (script) => void (await runModel(store, script))),
      { seed: 11, numRuns: 2, endOnFailure: true },
    );
  });
});
