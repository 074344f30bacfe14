/** What may go from a stream, swept by one member at a time. */
import { FrozenClock, Rheo, RheoError } from "@rheo/core";
import { internalsOf, retentionStream } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import {
  type ArchiveChunk,
  defineConfig,
  defineRetention,
  type RetentionOptions,
  type Supervisor,
  supervise,
} from "@rheo/runtime";
import { ByteMeter } from "@rheo/runtime/internal";
import { afterEach, describe, expect, test } from "vitest";
import { deferred } from "../src/deferred.ts";
import { faulty, pass, record, stopFrozen, turns } from "./store.ts";

const STREAM = "orders";
const SECOND = 1_000;
const EVERY_MS = 10 * SECOND;

class World {
  readonly clock: FrozenClock;
  readonly rheo: Rheo;
  readonly fault: Parameters<typeof faulty>[1];
  readonly apps: Supervisor[] = [];
  readonly chunks: ArchiveChunk[] = [];

  private constructor(clock: FrozenClock, rheo: Rheo, fault: Parameters<typeof faulty>[1]) {
    this.clock = clock;
    this.rheo = rheo;
    this.fault = fault;
  }

  static async open(partitions = 1): Promise<World> {
    const clock = new FrozenClock(new Date(1_000_000 * SECOND));
    const fault = {};
    const rheo = await Rheo.open({ backend: faulty(memory(), fault), clock });
    await rheo.createStream(STREAM, { partitions });
    return new World(clock, rheo, fault);
  }

  /** `count` events, a second apart; the clock stands a second after the last one then. */
  async append(count: number, partition = 0): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.rheo.append(STREAM, { payload: { n, text: "x".repeat(80) }, partition });
      this.clock.advance(SECOND);
    }
  }

  async sweepers(policy: Partial<RetentionOptions>, count = 1): Promise<Supervisor[]> {
    const retention = [{ stream: STREAM, everyMs: EVERY_MS, ...policy }];
    for (let n = 0; n < count; n++) this.apps.push(await supervise({ rheo: this.rheo, consumers: [], retention }));
    await turns(50);
    return this.apps;
  }

  readonly keep = (chunk: ArchiveChunk): void => void this.chunks.push(chunk);

  async retained(partition = 0): Promise<[first: number, last: number]> {
    const { firstSequence = 0, highWatermark = 0 } = (await this.rheo.streamInfo(STREAM)).partitions[partition] ?? {};
    return [firstSequence, highWatermark];
  }

  get archived(): number[] {
    return this.chunks.flatMap(({ events }) => events.map(({ sequence }) => sequence));
  }

  get leaders(): number[] {
    return this.apps.flatMap((app, at) => (app.children()[0]?.details.leading === true ? [at] : []));
  }

  async end(): Promise<void> {
    for (const app of this.apps) await stopFrozen(app, this.clock);
    await this.rheo.close();
  }
}

const worlds: World[] = [];
const open = async (partitions?: number): Promise<World> => {
  const world = await World.open(partitions);
  worlds.push(world);
  return world;
};
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end();
});

describe("a sweep", () => {
  test("removes what is older than the age by the store's clock, and goes on as time does", async () => {
    const w = await open();
    await w.append(20);
    await w.sweepers({ maxAgeMs: 5 * SECOND });
    expect(await w.retained()).toEqual([16, 20]);
    await pass(w.clock, EVERY_MS + 4 * SECOND, SECOND);
    expect(await w.retained()).toEqual([21, 20]);
  });

  test("keeps so many of the latest events of each partition", async () => {
    const w = await open(2);
    await w.append(20, 0);
    await w.append(5, 1);
    await w.sweepers({ maxEvents: 8 });
    expect([await w.retained(0), await w.retained(1)]).toEqual([
      [13, 20],
      [1, 5],
    ]);
  });

  test("keeps at least so many bytes of the latest events, and removes whole segments", async () => {
    const w = await open();
    const events = Array.from({ length: 500 }, () => ({ payload: "x".repeat(1_000) }));
    for (let n = 0; n < 7; n++) await w.rheo.appendMany(STREAM, events);
    await w.sweepers({ maxBytes: 1_400_000 });
    expect(await w.retained()).toEqual([2_001, 3_500]);
    await w.rheo.appendMany(STREAM, events);
    await pass(w.clock, EVERY_MS + 4 * SECOND, SECOND);
    expect(await w.retained()).toEqual([2_001, 4_000]);
    for (let n = 0; n < 2; n++) await w.rheo.appendMany(STREAM, events);
    await pass(w.clock, EVERY_MS + 4 * SECOND, SECOND);
    expect(await w.retained()).toEqual([3_501, 5_000]);
  });

  test("takes what any of its measures lets go", async () => {
    const w = await open();
    await w.append(20);
    await w.sweepers({ maxAgeMs: 15 * SECOND, maxEvents: 4 });
    expect(await w.retained()).toEqual([17, 20]);
  });

  test("never takes what a group has not settled, and says how much it held back (L10)", async () => {
    const w = await open();
    const swept = record(w.rheo, "retention.swept");
    await w.append(10);
    await w.rheo.createGroup(STREAM, "slow");
    for (const lease of await w.rheo.fetch(STREAM, "slow", { limit: 3 })) await w.rheo.ack(lease);
    await w.sweepers({ maxEvents: 0, archive: w.keep });
    expect([await w.retained(), w.archived]).toEqual([
      [4, 10],
      [1, 2, 3],
    ]);
    expect(swept).toMatchObject([{ removed: 3, archived: 3, heldBack: 7 }]);
    expect(w.apps[0]?.children()).toMatchObject([{ id: "retention:orders", kind: "retention", details: { heldBack: 7 } }]);
  });

  test("with force takes that, too, and the group says what it lost (L10)", async () => {
    const w = await open();
    await w.append(10);
    await w.rheo.createGroup(STREAM, "slow");
    await w.sweepers({ maxEvents: 2, force: true, archive: w.keep });
    expect([await w.retained(), w.archived]).toEqual([
      [9, 10],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ]);
    expect((await w.rheo.lag(STREAM, "slow")).partitions).toMatchObject([{ skipped: 8, lag: 2 }]);
  });

  test("of a stream that is not there yet finds it once it is", async () => {
    const w = await open();
    await w.sweepers({ stream: "later", maxEvents: 1 });
    await w.rheo.createStream("later");
    await w.rheo.appendMany("later", [{ payload: 1 }, { payload: 2 }]);
    await pass(w.clock, EVERY_MS + 4 * SECOND, SECOND);
    expect((await w.rheo.streamInfo("later")).partitions).toMatchObject([{ firstSequence: 2 }]);
    expect(w.apps[0]?.children()).toMatchObject([{ restarts: 0, details: { failures: 0 } }]);
  });

  test("goes on after its stream was deleted and made again", async () => {
    const w = await open();
    await w.append(5);
    await w.sweepers({ maxEvents: 1 });
    await w.rheo.deleteStream(STREAM, { confirm: true });
    expect(await internalsOf(w.rheo).backend.getStream(retentionStream(STREAM))).toBeNull();
    await w.rheo.createStream(STREAM);
    await w.append(5);
    await pass(w.clock, 2 * EVERY_MS, SECOND);
    expect(await w.retained()).toEqual([5, 5]);
  });
});

describe("an archive", () => {
  test("is given every event before it goes, in chunks without gaps", async () => {
    const w = await open(2);
    const seen: number[] = [];
    const events = Array.from({ length: 1_250 }, (_, n) => ({ payload: n, partition: 0 }));
    for (let n = 0; n < 2; n++) await w.rheo.appendMany(STREAM, events);
    await w.append(5, 1);
    await w.sweepers({
      maxEvents: 1,
      archive: async (chunk) => {
        seen.push((await w.retained(chunk.partition))[0]);
        w.keep(chunk);
      },
    });
    await turns(200);
    expect(w.chunks.map(({ partition, firstSequence, lastSequence }) => [partition, firstSequence, lastSequence])).toEqual([
      [0, 1, 1_000],
      [0, 1_001, 2_000],
      [0, 2_001, 2_499],
      [1, 1, 4],
    ]);
    expect(seen).toEqual([1, 1_001, 2_001, 1]); // nothing of a chunk was gone when it was given
    expect(w.chunks[0]?.events[0]).toMatchObject({ stream: STREAM, sequence: 1, payload: 0 });
    expect([await w.retained(0), await w.retained(1)]).toEqual([
      [2_500, 2_500],
      [5, 5],
    ]);
  });

  test("that throws keeps the chunk, and is given it again after a wait that grows", async () => {
    const w = await open();
    const failed = record(w.rheo, "retention.failed");
    await w.append(4);
    let isUp = false;
    const archive = (chunk: ArchiveChunk): void => {
      if (!isUp) throw new Error("the bucket is away");
      w.keep(chunk);
    };
    await w.sweepers({ maxEvents: 1, archive });
    await pass(w.clock, 20 * SECOND, SECOND);
    expect([await w.retained(), failed.length > 2]).toEqual([[1, 4], true]);
    expect(failed[0]).toMatchObject({ failures: 1, error: { message: "the bucket is away" } });
    expect(failed.map(({ nextInMs }) => nextInMs)).toEqual(failed.map(({ nextInMs }) => nextInMs).toSorted((a, b) => a - b));
    isUp = true;
    await pass(w.clock, 10 * SECOND, SECOND);
    expect([await w.retained(), w.archived]).toEqual([
      [4, 4],
      [1, 2, 3],
    ]);
    expect(w.apps[0]?.children()).toMatchObject([{ restarts: 0, details: { failures: 0 } }]);
  });

  test("that is at work when a group goes back keeps what that has to see again", async () => {
    const w = await open();
    await w.append(6);
    await w.rheo.createGroup(STREAM, "g");
    for (const lease of await w.rheo.fetch(STREAM, "g", { limit: 6 })) await w.rheo.ack(lease);
    await w.sweepers({
      maxEvents: 1,
      archive: async (chunk) => {
        w.keep(chunk);
        if (w.chunks.length === 1) await w.rheo.replay(STREAM, "g", { fromSequence: 2 });
      },
    });
    expect(await w.retained()).toEqual([3, 6]);
    expect((await w.rheo.fetch(STREAM, "g", { limit: 10 })).map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6]);
  });

  test("that never ends is aborted by a stop, and what it had not done stays", async () => {
    const w = await open();
    await w.append(4);
    const aborted = deferred<unknown>();
    const archive: NonNullable<RetentionOptions["archive"]> = (_chunk, { signal }) =>
      new Promise(() => signal.addEventListener("abort", () => aborted.resolve(signal.reason)));
    const [app] = await w.sweepers({ maxEvents: 1, archive });
    expect(app?.children()).toMatchObject([{ details: { sweeping: true } }]);
    if (app !== undefined) await stopFrozen(app, w.clock);
    expect(await aborted.promise).toMatchObject({ code: "aborted" });
    expect(await w.retained()).toEqual([1, 4]);
  });
});

describe("of several members", () => {
  test("one sweeps, and when it stops another does at its next beat", async () => {
    const w = await open();
    const elected = record(w.rheo, "retention.elected");
    await w.append(20);
    await w.sweepers({ maxEvents: 5, archive: w.keep }, 3);
    await pass(w.clock, 30 * SECOND, SECOND);
    expect([w.leaders, elected.length, w.archived.length]).toEqual([[0], 1, 15]);
    if (w.apps[0] !== undefined) await stopFrozen(w.apps[0], w.clock);
    await pass(w.clock, 8 * SECOND, SECOND);
    expect([w.leaders.length, elected.length]).toEqual([1, 2]);
    expect(elected[1]?.token).toBeGreaterThan(elected[0]?.token ?? 0);
  });

  test("one whose lease cannot be kept ends its sweep, and another takes over within a lease", async () => {
    const w = await open();
    const deposed = record(w.rheo, "retention.deposed");
    const elected = record(w.rheo, "retention.elected");
    const signals: AbortSignal[] = [];
    await w.append(4);
    const archive: NonNullable<RetentionOptions["archive"]> = (_chunk, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    await w.sweepers({ maxEvents: 1, archive });
    w.fault.renew = () => Promise.reject(new RheoError("unavailable", "the link is cut"));
    await pass(w.clock, 14 * SECOND, SECOND);
    expect([deposed.length, signals[0]?.aborted, w.leaders]).toEqual([1, true, []]);
    delete w.fault.renew;
    await w.sweepers({ maxEvents: 1, archive });
    await pass(w.clock, 16 * SECOND, SECOND);
    expect([elected.length, w.leaders.length, signals[1]?.aborted]).toEqual([2, 1, false]);
  });

  test("one that is paused leaves the place to another", async () => {
    const w = await open();
    await w.sweepers({ maxEvents: 1 }, 2);
    w.apps[0]?.pause();
    await pass(w.clock, 12 * SECOND, SECOND);
    expect([w.leaders, w.apps[0]?.children()[0]?.state]).toEqual([[1], "paused"]);
    w.apps[0]?.resume();
    w.apps[1]?.pause("retention:orders");
    await pass(w.clock, 12 * SECOND, SECOND);
    expect(w.leaders).toEqual([0]);
  });

  test("a hundred that die one after another are each followed by the next", async () => {
    const w = await open();
    for (let n = 0; n < 100; n++) {
      const [app] = await w.sweepers({ maxEvents: 1, leaseMs: SECOND });
      expect([n, w.leaders]).toEqual([n, [0]]);
      w.fault.exchange = (call, request) =>
        request.settlements.some(({ outcome }) => outcome.kind === "release") ? Promise.reject(gone()) : call();
      if (app !== undefined) await stopFrozen(app, w.clock);
      w.fault.exchange = (call) => call();
      w.apps.length = 0;
      w.clock.advance(2 * SECOND);
    }
  });
});

const gone = (): RheoError => new RheoError("unavailable", "it died");

describe("a meter of bytes", () => {
  const meterOf = async (sizes: readonly number[], first = 1): Promise<ByteMeter> => {
    const meter = new ByteMeter();
    const blank = { partition: 0, id: "", timestampMs: 0, type: null, key: null, metadata: "", payload: "" };
    const records = sizes.map((bytes, n) => ({ ...blank, sequence: n + 1, bytes }));
    const mark = { partition: 0, firstSequence: first, highWatermark: sizes.length };
    await meter.catchUp(
      [mark],
      async (_, after) => records.filter(({ sequence }) => sequence > after).slice(0, 1),
      () => false,
    );
    return meter;
  };

  test.each([
    [10, 0],
    [9, 0],
    [8, 1],
    [7, 2],
    [5, 2],
    [4, 3],
    [0, 4],
  ])("that has to keep %i of 2, 1, 3 and 4 bytes lets go %i", async (maxBytes, upTo) => {
    expect((await meterOf([2, 1, 3, 4])).surplus(0, maxBytes)).toBe(upTo);
  });

  test("counts what is retained only", async () => {
    expect((await meterOf([2, 1, 3, 4], 3)).surplus(0, 4)).toBe(3);
  });
});

describe("options", () => {
  const wrong: readonly [string, unknown][] = [
    ["no measure", { stream: STREAM }],
    ["an unknown option", { stream: STREAM, maxEvents: 1, maxEvent: 1 }],
    ["an age of 0", { stream: STREAM, maxAgeMs: 0 }],
    ["part of an event", { stream: STREAM, maxEvents: 1.5 }],
    ["negative bytes", { stream: STREAM, maxBytes: -1 }],
    ["an archive that is none", { stream: STREAM, maxEvents: 1, archive: "s3://bucket" }],
    ["a lease too short", { stream: STREAM, maxEvents: 1, leaseMs: 10 }],
  ];
  test.each(wrong)("%s is refused", (_, options) => {
    expect(() => defineRetention(options as RetentionOptions)).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });

  test("a name that no stream has is refused", () => {
    expect(() => defineRetention({ stream: "a/b", maxEvents: 1 })).toThrow(expect.objectContaining({ code: "invalid_name" }));
  });

  test("a stream has one policy; a config is held to the same", () => {
    const retention = [
      { stream: STREAM, maxEvents: 1 },
      { stream: STREAM, maxAgeMs: 1 },
    ];
    expect(() => defineConfig({ consumers: [], retention })).toThrow(/"orders" is given twice/);
    expect(() => defineConfig({ consumers: [], retention: [] })).toThrow(/at least one consumer/);
    expect(defineConfig({ consumers: [], retention: retention.slice(0, 1) }).retention).toMatchObject([
      { maxEvents: 1, leaseMs: 15_000 },
    ]);
  });
});
