/** Partitions shared out among the members of a group. */
import { FrozenClock, Rheo, RheoError } from "@rheo/core";
import { assignmentStream, internalsOf } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { type ConsumerOptions, type Supervisor, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { AssignmentStore, shareOf } from "@rheo/runtime/internal";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { faulty, pass, record, stopFrozen, turns, until } from "./store.ts";

const LEASE_MS = 8_000;

describe("the share of a member", () => {
  const requests = fc
    .record({
      partitions: fc.integer({ min: 1, max: 50 }),
      members: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1 }),
    })
    .chain(({ partitions, members }) =>
      fc.record({
        partitions: fc.constant(partitions),
        members: fc.constant(members),
        held: fc.array(fc.nat(partitions), { minLength: members.length, maxLength: members.length }),
      }),
    )
    .map(({ partitions, members, held }) => ({
      partitions,
      members,
      held: new Map(members.map((name, at) => [name, held[at] ?? 0])),
    }));

  test("of all members together is every partition, and they differ by one at most", () => {
    fc.assert(
      fc.property(requests, (request) => {
        const shares = request.members.map((self) => shareOf({ ...request, self }));
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(request.partitions);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("is what each holds when that is equal already", () => {
    fc.assert(
      fc.property(requests, ({ partitions, members }) => {
        const least = Math.floor(partitions / members.length);
        const backwards = members.toSorted().toReversed(); // those with one more are the last by name
        const held = new Map(backwards.map((name, at) => [name, at < partitions % members.length ? least + 1 : least]));
        for (const self of members) expect(shareOf({ partitions, members, held, self })).toBe(held.get(self));
      }),
    );
  });

  test("is nothing for one that does not take part", () => {
    expect(shareOf({ partitions: 4, members: ["a"], held: new Map([["b", 2]]), self: "b" })).toBe(0);
  });
});

/** Members of one group over one store in memory, by a clock that moves when told. */
class World {
  readonly clock = new FrozenClock();
  readonly apps: Supervisor[] = [];
  readonly started: { member: string; partition: number; sequence: number }[] = [];
  fault: Parameters<typeof faulty>[1] = {};
  readonly #rheo: Rheo;

  private constructor(rheo: Rheo, clock: FrozenClock, fault: Parameters<typeof faulty>[1]) {
    this.#rheo = rheo;
    this.clock = clock;
    this.fault = fault;
  }

  static async open(partitions: number): Promise<World> {
    const clock = new FrozenClock();
    const fault = {};
    const rheo = await Rheo.open({ backend: faulty(memory(), fault), clock });
    await rheo.createStream("orders", { partitions });
    await rheo.createGroup("orders", "g", { leaseMs: LEASE_MS });
    return new World(rheo, clock, fault);
  }

  get rheo(): Rheo {
    return this.#rheo;
  }

  async join(name: string, more: Partial<ConsumerOptions> = {}): Promise<Supervisor> {
    const app = await supervise({
      rheo: this.#rheo,
      consumers: [
        {
          stream: "orders",
          group: "g",
          partitions: "assigned",
          consumerId: name,
          handler: handler(({ partition, sequence }) => void this.started.push({ member: name, partition, sequence })),
          ...more,
        },
      ],
    });
    this.apps.push(app);
    return app;
  }

  /** A member that will never renew what it takes. */
  async ghost(name: string): Promise<AssignmentStore> {
    const { backend } = internalsOf(this.#rheo);
    const partitions = (await this.#rheo.streamInfo("orders")).partitions.length;
    const ghost = new AssignmentStore(
      backend,
      { stream: "orders", group: "g", partitions, consumerId: name },
      () => LEASE_MS / 2,
    );
    await ghost.ensure();
    await ghost.takeSeat();
    return ghost;
  }

  async pass(ms: number): Promise<void> {
    await pass(this.clock, ms, 100);
  }

  async close(): Promise<void> {
    for (const app of this.apps) await stopFrozen(app, this.clock);
    await this.#rheo.close();
  }
}

const partitionsOf = (app: Supervisor): readonly number[] => app.children()[0]?.details.partitions as readonly number[]; // of a consumer whose partitions are assigned
const all = (count: number): number[] => Array.from({ length: count }, (_, partition) => partition);
const sizes = (...apps: readonly Supervisor[]): number[] => apps.map((app) => partitionsOf(app).length);
const together = (...apps: readonly Supervisor[]): number[] =>
  apps.flatMap((app) => [...partitionsOf(app)]).toSorted((a, b) => a - b);

describe("assigned partitions", () => {
  let world: World | null = null;
  afterEach(async () => {
    await world?.close();
    world = null;
  });
  const open = async (partitions: number): Promise<World> => {
    world = await World.open(partitions);
    return world;
  };

  test("all go to a member that is alone, at once", async () => {
    const { clock: _, ...rest } = await open(6);
    expect(rest.apps).toEqual([]);
    const app = await (world as World).join("a");
    await turns(50);
    expect([partitionsOf(app), app.children()[0]?.details]).toMatchObject([all(6), { share: 6, members: 1 }]);
  });

  test("are shared equally within one lease length after a member joins, and what is kept does not move", async () => {
    const w = await open(7);
    const a = await w.join("a");
    await w.pass(1_000);
    const [assigned, released] = [record(w.rheo, "partition.assigned"), record(w.rheo, "partition.released")];
    const b = await w.join("b");
    await w.pass(LEASE_MS);
    expect([sizes(a, b), together(a, b)]).toEqual([[4, 3], all(7)]);
    const c = await w.join("c");
    await w.pass(LEASE_MS);
    expect([sizes(a, b, c), together(a, b, c)]).toEqual([[3, 2, 2], all(7)]);
    expect([assigned.length, released.length]).toEqual([5, 5]); // three to b, then two to c
  });

  test("of a member that leaves go to the others within one lease length", async () => {
    const w = await open(6);
    const [a, b, c] = [await w.join("a"), await w.join("b"), await w.join("c")];
    await w.pass(LEASE_MS);
    expect(sizes(a, b, c)).toEqual([2, 2, 2]);
    await stopFrozen(b, w.clock);
    await w.pass(LEASE_MS);
    expect([sizes(a, c), together(a, c)]).toEqual([[3, 3], all(6)]);
  });

  test("of a member that dies go to the others within one lease length, however many have died before", async () => {
    const w = await open(8);
    const a = await w.join("a");
    await w.pass(LEASE_MS);
    for (let death = 1; death <= 12; death++) {
      const ghost = await w.ghost(`ghost-${death}`);
      await w.pass(LEASE_MS / 4);
      expect(sizes(a), `a makes room for ghost ${death}`).toEqual([4]);
      expect((await ghost.take(4)).length).toBe(4);
      await w.pass(LEASE_MS);
      expect(partitionsOf(a), `a has everything after death ${death}`).toEqual(all(8));
    }
  });

  test("move back and forth more often than a delivery may fail", async () => {
    const w = await open(2);
    const { backend } = internalsOf(w.rheo);
    const stream = assignmentStream("orders", "g");
    const ghosts = [await w.ghost("one"), await w.ghost("two")];
    for (let round = 0; round < 1_200; round++) {
      const claims = (await ghosts[round % 2]?.take(2)) ?? [];
      if (claims.length < 2) expect(claims).toEqual([]); // they have just been made anew
      w.clock.advance(LEASE_MS);
    }
    expect((await backend.groupStats(stream, "partitions")).deadLetters).toBe(0);
  });

  test("that are to move are not fetched from any more, and move once nothing of them is in hand", async () => {
    const w = await open(2);
    const append = (...partitions: readonly number[]): Promise<unknown> =>
      w.rheo.appendMany(
        "orders",
        partitions.map((partition) => ({ partition, payload: 1 })),
      );
    await append(0, 1);
    const running: (() => void)[] = [];
    const started: string[] = [];
    const a = await w.join("a", {
      concurrency: 2,
      handler: handler(({ partition, sequence }) => {
        started.push(`${partition}@${sequence}`);
        return new Promise<void>((resolve) => void running.push(resolve));
      }),
    });
    await turns(50);
    expect(started).toEqual(["0@1", "1@1"]);
    await append(0, 1, 0, 1);
    const b = await w.join("b");
    await w.pass(LEASE_MS / 2);
    expect([sizes(a, b), w.started]).toEqual([[1, 0], []]);
    for (const end of running.splice(0)) end();
    await w.pass(1_500);
    expect([sizes(a, b), together(a, b)]).toEqual([
      [1, 1],
      [0, 1],
    ]);
    const moved = partitionsOf(b)[0];
    expect(w.started.map(({ partition }) => partition)).toEqual(new Array(w.started.length).fill(moved));
    expect(started.slice(2).every((place) => !place.startsWith(`${moved}@`))).toBe(true);
    for (const end of running.splice(0)) end();
    await w.pass(1_000);
    for (const end of running.splice(0)) end();
    await w.pass(1_000);
    expect((await w.rheo.lag("orders", "g")).lag).toBe(0);
  });

  test("that were given up while a fetch was under way are not worked on, whatever the fetch brings", async () => {
    const w = await open(2);
    const started: number[] = [];
    const a = await w.join("a", { handler: handler(({ partition }) => void started.push(partition)) });
    await w.pass(1_000);
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    w.fault.exchange = async (call, { stream, fetch }) => {
      const answered = await call();
      if (stream === "orders" && fetch !== null) await held;
      return answered;
    };
    await w.rheo.appendMany(
      "orders",
      [0, 1].map((partition) => ({ partition, payload: 1 })),
    );
    await turns(20);
    delete w.fault.exchange;
    const b = await w.join("b");
    await w.pass(LEASE_MS / 2);
    expect(sizes(a, b)).toEqual([1, 0]);
    const kept = [...partitionsOf(a)];
    answer();
    await w.pass(2_000);
    expect([started, w.started.map(({ partition }) => partition), sizes(a, b)]).toEqual([
      kept,
      all(2).filter((partition) => !kept.includes(partition)),
      [1, 1],
    ]);
  });

  test("move after a lease length even from under a handler that does not end, whose ack still counts", async () => {
    const w = await open(2);
    await w.rheo.appendMany(
      "orders",
      [0, 1].map((partition) => ({ partition, payload: 1 })),
    );
    const running: (() => void)[] = [];
    const a = await w.join("a", { handler: handler(() => new Promise<void>((resolve) => void running.push(resolve))) });
    await turns(50);
    const b = await w.join("b");
    await w.pass(2 * LEASE_MS);
    expect([sizes(a, b), w.started]).toEqual([[1, 1], []]);
    for (const end of running) end();
    await w.pass(500);
    expect((await w.rheo.lag("orders", "g")).lag).toBe(0);
  });

  test("are given up by a member that is paused, and taken again when it is resumed", async () => {
    const w = await open(4);
    const [a, b] = [await w.join("a"), await w.join("b")];
    await w.pass(LEASE_MS);
    a.pause();
    await w.pass(LEASE_MS);
    expect([sizes(a, b), a.children()[0]?.state]).toEqual([[0, 4], "paused"]);
    a.resume();
    await w.pass(LEASE_MS);
    expect([sizes(a, b), together(a, b)]).toEqual([[2, 2], all(4)]);
  });

  test("are lost when they cannot be renewed, and had again when the store is back", async () => {
    const w = await open(3);
    const a = await w.join("a");
    await w.pass(1_000);
    const [lost, failed] = [record(w.rheo, "partition.lost"), record(w.rheo, "assignment.failed")];
    const away = (): Promise<never> => Promise.reject(new RheoError("unavailable", "away"));
    w.fault.renew = away;
    await w.pass(LEASE_MS);
    expect([sizes(a), lost.length, failed.length > 0]).toEqual([[0], 3, true]);
    delete w.fault.renew;
    await w.pass(LEASE_MS);
    expect([partitionsOf(a), a.children()[0]?.restarts]).toEqual([all(3), 0]);
  });

  test("are made anew after somebody has deleted what they are kept in", async () => {
    const w = await open(3);
    const a = await w.join("a");
    await w.pass(1_000);
    await internalsOf(w.rheo).backend.deleteStream(assignmentStream("orders", "g"));
    await w.pass(LEASE_MS);
    expect([partitionsOf(a), a.children()[0]?.restarts]).toEqual([all(3), 0]);
  });

  test("of a stream made again with fewer partitions are those of the new one", async () => {
    const w = await open(2);
    const { backend } = internalsOf(w.rheo);
    const old = new AssignmentStore(backend, { stream: "orders", group: "g", partitions: 5, consumerId: "old" }, () => LEASE_MS);
    await old.ensure();
    const a = await w.join("a");
    await w.pass(LEASE_MS);
    expect(partitionsOf(a)).toEqual(all(2));
  });

  test("more members than partitions: those without one wait, and take over", async () => {
    const w = await open(1);
    const [a, b] = [await w.join("a"), await w.join("b")];
    await w.pass(LEASE_MS);
    expect(sizes(a, b).toSorted((x, y) => x - y)).toEqual([0, 1]);
    const [holder, other] = sizes(a)[0] === 1 ? [a, b] : [b, a];
    await stopFrozen(holder, w.clock);
    await w.pass(LEASE_MS);
    expect(sizes(other)).toEqual([1]);
  });

  test("while members come and go at random, each event is handled, and in the order of its partition", async () => {
    const w = await World.open(5);
    world = w;
    await w.rheo.createGroup("orders", "ordered", { leaseMs: LEASE_MS, ordering: "partition" });
    const seen = new Map<number, number[]>();
    const consumer: Partial<ConsumerOptions> = {
      group: "ordered",
      handler: handler(async ({ partition, sequence }) => {
        await turns(1);
        seen.set(partition, [...(seen.get(partition) ?? []), sequence]);
      }),
    };
    const members: Supervisor[] = [];
    let random = 7;
    for (let round = 0; round < 30; round++) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      await w.rheo.appendMany(
        "orders",
        all(20).map((n) => ({ partition: n % 5, payload: n })),
      );
      const leaving =
        members.length > 2 || (members.length > 0 && random % 3 === 0) ? members.splice(random % members.length, 1)[0] : null;
      if (leaving === null || leaving === undefined) members.push(await w.join(`m${round}`, consumer));
      else await stopFrozen(leaving, w.clock);
      await w.pass(random % 3_000);
    }
    if (members.length === 0) await w.join("last", consumer);
    await w.pass(3 * LEASE_MS);
    expect((await w.rheo.lag("orders", "ordered")).lag).toBe(0);
    for (const sequences of seen.values()) expect(sequences).toEqual(all(120).map((n) => n + 1));
  });
});

describe("the stream that assignment is kept in", () => {
  const assigned = async (rheo: Rheo): Promise<Supervisor> => {
    const app = await supervise({
      rheo,
      consumers: [{ stream: "orders", group: "g", createGroup: {}, partitions: "assigned", handler: handler(() => undefined) }],
    });
    await until("it has partitions", () => partitionsOf(app).length === 2);
    return app;
  };

  test("is in no listing, and cannot be named by a user", async () => {
    await using rheo = await Rheo.open({ backend: memory() });
    for (const name of ["A", "Z", "a", "orders"]) await rheo.createStream(name, { partitions: 2 });
    await using _app = await assigned(rheo);
    expect((await rheo.listStreams()).map(({ name }) => name)).toEqual(["A", "Z", "a", "orders"]);
    expect((await rheo.listStreams({ after: "A", limit: 2 })).map(({ name }) => name)).toEqual(["Z", "a"]);
    await expect(rheo.streamInfo(assignmentStream("orders", "g"))).rejects.toThrow(/name/);
  });

  for (const what of ["group", "stream"] as const) {
    test(`goes with its ${what}`, async () => {
      await using rheo = await Rheo.open({ backend: memory() });
      await rheo.createStream("orders", { partitions: 2 });
      const app = await assigned(rheo);
      await app.stop();
      if (what === "group") await rheo.deleteGroup("orders", "g", { confirm: true });
      else await rheo.deleteStream("orders", { confirm: true });
      expect(await internalsOf(rheo).backend.listStreams({ after: null, limit: 10 })).toHaveLength(what === "group" ? 1 : 0);
    });
  }
});
