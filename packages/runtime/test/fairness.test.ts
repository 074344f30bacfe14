/** How members of one group share a backlog, by simulated time. */
import { FrozenClock, type Rheo } from "@rheo/core";
import { type Supervisor, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { afterEach, describe, expect, test } from "vitest";
import { openOrders, stopFrozen, turns } from "./store.ts";

const STEP_MS = 10;
const CONCURRENCY = 4;

interface Member {
  readonly app: Supervisor;
  /** When it finished each of its events, in ms. */
  readonly finishedMs: number[];
  /** The most leases it held at once. */
  most: number;
}

class World {
  readonly clock = new FrozenClock();
  readonly members: Member[] = [];
  rheo: Rheo | null = null;

  async open(events: number): Promise<Rheo> {
    this.rheo = await openOrders({ clock: this.clock });
    for (let from = 0; from < events; from += 1_000)
      await this.rheo.appendMany(
        "orders",
        Array.from({ length: Math.min(1_000, events - from) }, (_, n) => ({ payload: from + n })),
      );
    await this.rheo.createGroup("orders", "g");
    return this.rheo;
  }

  async join(rheo: Rheo, eventMs: number): Promise<Member> {
    const finishedMs: number[] = [];
    const work = handler(async () => {
      await new Promise<void>((resolve) => void this.clock.schedule(eventMs, resolve));
      finishedMs.push(this.clock.monotonic());
    });
    const consumer = { stream: "orders", group: "g", concurrency: CONCURRENCY, handler: work } as const;
    const member: Member = { app: await supervise({ rheo, consumers: [consumer] }), finishedMs, most: 0 };
    this.members.push(member);
    return member;
  }

  /** Until everything is settled. */
  async run(rheo: Rheo): Promise<void> {
    while ((await rheo.lag("orders", "g")).lag > 0) {
      this.clock.advance(STEP_MS);
      await turns(3);
      for (const member of this.members) {
        member.most = Math.max(member.most, Number(member.app.children()[0]?.details.inflight));
      }
    }
  }
}

describe("members of one group", () => {
  let world = new World();
  afterEach(async () => {
    for (const { app } of world.members) await stopFrozen(app, world.clock);
    await world.rheo?.close();
    world = new World();
  });

  test("of the same speed do about the same share of a backlog", async () => {
    const rheo = await world.open(3_000);
    const members = [await world.join(rheo, 20), await world.join(rheo, 20), await world.join(rheo, 20)];
    await world.run(rheo);
    for (const { finishedMs } of members) {
      expect(finishedMs.length).toBeGreaterThan(850);
      expect(finishedMs.length).toBeLessThan(1_150);
    }
  });

  test("of different speed each work all the time, and end together: the slow one holds no more than it can do in two seconds", async () => {
    const rheo = await world.open(6_000);
    const [slow, fast] = [await world.join(rheo, 200), await world.join(rheo, 10)];
    await world.run(rheo);
    const [endOfSlow, endOfFast] = [slow, fast].map(({ finishedMs }) => finishedMs.at(-1) ?? 0) as [number, number]; // one each
    expect(Math.abs(endOfSlow - endOfFast)).toBeLessThan(2_000);
    expect(slow.most).toBeLessThanOrEqual((CONCURRENCY * 2_000) / 200);
    expect(slow.finishedMs.length).toBeGreaterThan(0.9 * ((CONCURRENCY * endOfSlow) / 200));
    expect(fast.finishedMs.length).toBeGreaterThan(0.8 * ((CONCURRENCY * endOfFast) / 10));
  });

  test("that come late have work within two seconds, although others hold much", async () => {
    const rheo = await world.open(4_000);
    const early = await world.join(rheo, 10);
    while (early.finishedMs.length < 1_000) {
      world.clock.advance(STEP_MS);
      await turns(3);
    }
    const cameMs = world.clock.monotonic();
    const late = await world.join(rheo, 10);
    await world.run(rheo);
    expect((late.finishedMs[0] ?? Number.POSITIVE_INFINITY) - cameMs).toBeLessThan(2_000);
    expect(late.finishedMs.length).toBeGreaterThan(1_000);
  });

  test("one whose handlers become slow lets go of what it held for their former speed", async () => {
    const rheo = await world.open(2_000);
    let eventMs = 5;
    const held: number[] = [];
    const work = handler(async () => await new Promise<void>((resolve) => void world.clock.schedule(eventMs, resolve)));
    const consumer = { stream: "orders", group: "g", concurrency: CONCURRENCY, leaseMs: 10_000, handler: work } as const;
    const app = await supervise({ rheo, consumers: [consumer] });
    world.members.push({ app, finishedMs: [], most: 0 });
    const step = async (): Promise<void> => {
      world.clock.advance(STEP_MS);
      await turns(3);
      held.push(Number(app.children()[0]?.details.inflight));
    };
    for (let ms = 0; ms < 1_000; ms += STEP_MS) await step();
    expect(Math.max(...held)).toBeGreaterThan(200);
    eventMs = 2_000;
    for (let ms = 0; ms < 30_000; ms += STEP_MS) await step();
    expect(held.at(-1)).toBeLessThanOrEqual(2 * CONCURRENCY);
  });
});
