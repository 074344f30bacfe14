/** A connection cut at every command of every call, when the server has carried it out and when it never heard of it (F7). */
import type { Backend, ExchangeAnswer, SettleOutcome } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { type Loss, startProxy, startRedis } from "@rheo/testing/servers";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import {
  ackOf,
  acks,
  drain,
  EVERYTHING,
  event,
  fetching,
  fill,
  GROUP,
  OPTIONS,
  openBackend,
  request,
  STREAM,
  settling,
} from "./fixtures/scene.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no" } });
const proxy = await startProxy(server.port);
let backend: Backend;
let direct: Backend;
let prefixes = 0;

const reopen = async (): Promise<void> => {
  await backend?.close();
  await direct?.close();
  const prefix = `cut${++prefixes}`;
  backend = await openBackend({ url: `redis://127.0.0.1:${proxy.port}`, prefix, notify: false });
  direct = await openBackend({ url: server.url, prefix, notify: false });
};
beforeEach(reopen);
afterAll(async () => {
  await backend.close();
  await direct.close();
  await proxy.stop();
  await server.stop();
});

const LOSSES: readonly Loss[] = ["answer", "request"];
const UNKNOWN = { code: "outcome_unknown" };
/** Of EVALSHA and of EVAL. */
const SCRIPT = "\r\neval";

describe.each(LOSSES)("when the %s is lost", (loss) => {
  test("an append is outcome_unknown, and repeated under its id it is stored once", async () => {
    await fill(backend, 2);
    const one = [{ stream: STREAM, partitions: 1, events: [event({ n: 1 }), event({ n: 2 })] }];
    const lost = proxy.lose(loss, SCRIPT);
    await expect(backend.append(one)).rejects.toMatchObject(UNKNOWN);
    await lost;
    const stored = loss === "answer" ? 4 : 2;
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: stored }]);
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
    "a settle ($kind) is outcome_unknown, and repeated it is stale_lease/settled if it had worked",
    async (outcome) => {
      await fill(backend, 3);
      const { grants } = await backend.exchange(fetching(3));
      const settlement = { ...ackOf(grants[0], 2), outcome };
      const lost = proxy.lose(loss, SCRIPT);
      await expect(backend.exchange(settling([settlement]))).rejects.toMatchObject(UNKNOWN);
      await lost;
      const { settled } = await backend.exchange(settling([settlement]));
      if (loss === "answer") expect(settled).toEqual([[{ state: "stale", why: "settled" }]]);
      else expect(settled[0]?.[0]?.state).not.toBe("stale");
      expect((await backend.exchange(settling([ackOf(grants[0], 1), ackOf(grants[0], 3)]))).settled.flat()).toEqual([
        { state: "acked" },
        { state: "acked" },
      ]);
    },
  );

  test("what a fetch was given and never heard of is given again when its lease runs out", async () => {
    await fill(backend, 3, { leaseMs: 100 });
    const lost = proxy.lose(loss, SCRIPT);
    await expect(backend.exchange(fetching(3))).rejects.toMatchObject(UNKNOWN);
    await lost;
    let answer: ExchangeAnswer;
    do answer = await backend.exchange(fetching(3, [], "b"));
    while (answer.grants.length === 0);
    expect(answer.grants).toMatchObject([{ attempt: loss === "answer" ? 2 : 1, events: [{}, {}, {}] }]);
    await backend.exchange(settling(acks(answer.grants)));
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 3 }]);
  });

  test("a read is asked again, and nobody notices", async () => {
    await fill(backend, 2);
    const lost = proxy.lose(loss, SCRIPT);
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
    await lost;
  });
});

/** More than a page of what works in pages. */
const MANY = 2_300;

/** Calls that may be repeated, what goes before them, and what is so after them. */
interface Case {
  readonly before: () => Promise<unknown>;
  readonly call: () => Promise<unknown>;
  readonly after: () => Promise<unknown>;
  readonly expected: unknown;
}

const filled = (count: number): Promise<void> => fill(direct, count);
const progress = (): Promise<unknown> => direct.progress(STREAM, GROUP);
const deadLetterAll = async (): Promise<void> => {
  const { grants } = await direct.exchange(fetching(MANY));
  const settlements = acks(grants).map((one) => ({ ...one, outcome: { kind: "reject", reason: "r", stack: null } as const }));
  await direct.exchange(settling(settlements));
};
const groupGone = (error: unknown): string => (RheoError.is(error) ? error.code : "not an error of ours");

const CASES: Readonly<Record<string, Case>> = {
  createStream: {
    before: async () => undefined,
    call: () => backend.createStream(STREAM, 3),
    after: async () => [await direct.getStream(STREAM), await direct.watermarks(STREAM)],
    expected: [expect.objectContaining({ name: STREAM, partitions: 3 }), expect.arrayContaining([expect.anything()])],
  },
  deleteStream: {
    before: () => filled(MANY),
    call: () => backend.deleteStream(STREAM),
    after: async () => [
      await direct.getStream(STREAM),
      (await direct.createStream(STREAM, 1)).created,
      await direct.watermarks(STREAM),
    ],
    expected: [null, true, [{ partition: 0, firstSequence: 1, highWatermark: 0 }]],
  },
  createGroup: {
    before: () => direct.createStream(STREAM, 2),
    call: () => backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" }),
    after: async () => [await direct.getGroup(STREAM, GROUP), await progress()],
    expected: [expect.objectContaining({ name: GROUP, paused: false }), [expect.anything(), expect.anything()]],
  },
  updateGroup: {
    before: () => filled(1),
    call: () => backend.updateGroup(STREAM, GROUP, { paused: true }),
    after: () => direct.getGroup(STREAM, GROUP),
    expected: expect.objectContaining({ paused: true }),
  },
  deleteGroup: {
    before: async () => {
      await filled(MANY);
      await deadLetterAll();
    },
    call: () => backend.deleteGroup(STREAM, GROUP),
    after: () => direct.getGroup(STREAM, GROUP).catch(groupGone),
    expected: "group_not_found",
  },
  append: {
    before: () => filled(1),
    call: () => backend.append([FIXED]),
    after: async () => (await direct.watermarks(STREAM))[0]?.highWatermark,
    expected: 1 + MANY,
  },
  trim: {
    before: () => filled(MANY),
    call: () => backend.trim({ stream: STREAM, cut: { kind: "keep", last: 10 }, partitions: null, force: true, dryRun: false }),
    after: () => direct.watermarks(STREAM),
    expected: [{ partition: 0, firstSequence: MANY - 9, highWatermark: MANY }],
  },
  renew: {
    before: () => filled(3),
    call: async () => {
      held ??= (await direct.exchange(fetching(3))).grants;
      const items = acks(held).map(({ partition, token, sequences }) => ({ partition, token, sequences }));
      return backend.renew({ stream: STREAM, group: GROUP, consumerId: "a", items, leaseMs: 90_000 });
    },
    after: async () =>
      (await direct.leases(STREAM, GROUP, 10)).map(({ sequence, expiresAtMs, leasedAtMs }) => [
        sequence,
        expiresAtMs - leasedAtMs >= 90_000,
      ]),
    expected: [
      [1, true],
      [2, true],
      [3, true],
    ],
  },
  replay: {
    before: async () => {
      await filled(MANY);
      await drain(direct, 1_000);
    },
    call: () =>
      backend.replay({ stream: STREAM, group: GROUP, scope: { kind: "after", after: 5 }, partitions: null, dryRun: false }),
    after: progress,
    expected: [expect.objectContaining({ frontier: 5, highWatermark: MANY })],
  },
  "replay by query": {
    before: async () => {
      await filled(MANY);
      await drain(direct, 1_000);
    },
    call: () =>
      backend.replay({
        stream: STREAM,
        group: GROUP,
        scope: { kind: "query", query: EVERYTHING },
        partitions: null,
        dryRun: false,
      }),
    after: () => drain(direct, 1_000),
    expected: MANY,
  },
  reset: {
    before: async () => {
      await filled(MANY);
      await drain(direct, 1_000);
    },
    call: () => backend.reset(STREAM, GROUP, { kind: "earliest" }),
    after: () => drain(direct, 1_000),
    expected: MANY,
  },
  redrive: {
    before: async () => {
      await filled(MANY);
      await deadLetterAll();
    },
    call: () => backend.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge: false }),
    after: async () => [(await direct.groupStats(STREAM, GROUP)).deadLetters, await drain(direct, 1_000)],
    expected: [0, MANY],
  },
  purge: {
    before: async () => {
      await filled(MANY);
      await deadLetterAll();
    },
    call: () => backend.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge: true }),
    after: async () => [(await direct.groupStats(STREAM, GROUP)).deadLetters, await drain(direct, 1_000)],
    expected: [0, 0],
  },
};

const FIXED = request(MANY);
let held: ExchangeAnswer["grants"] | null = null;

describe.each(Object.entries(CASES))("%s", (_, { before, call, after, expected }) => {
  test.each(LOSSES)("cut at each of its commands (the %s is lost) and repeated, does what it does", async (loss) => {
    let cuts = 0;
    for (let skip = 0; ; skip++) {
      if (skip > 0) await reopen();
      held = null;
      await before();
      void proxy.lose(loss, SCRIPT, skip);
      const failure: unknown = await call().then(
        () => null,
        (error: unknown) => error,
      );
      const wasSpared = proxy.spare();
      if (failure !== null) {
        expect(failure).toMatchObject({ code: expect.stringMatching(/^(outcome_unknown|unavailable)$/) });
        await call().catch((error: unknown) =>
          expect(error).toMatchObject({ code: expect.stringMatching(/not_found|nothing_to/) }),
        );
      }
      expect(await after()).toEqual(expected);
      if (wasSpared) break;
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(0);
  });
});

test.each(LOSSES)("a settle and a fetch in one exchange both happen or neither does, when the %s is lost", async (loss) => {
  await fill(backend, 10);
  const settlements = acks((await backend.exchange(fetching(5))).grants);
  const lost = proxy.lose(loss, SCRIPT);
  await expect(backend.exchange(fetching(5, settlements))).rejects.toMatchObject(UNKNOWN);
  await lost;
  const [progressNow] = await direct.progress(STREAM, GROUP);
  const leased = (await direct.leases(STREAM, GROUP, 100)).map(({ sequence }) => sequence);
  const [first, second] = [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10],
  ];
  expect([progressNow?.frontier, leased]).toEqual(loss === "answer" ? [5, second] : [0, first]);
});
