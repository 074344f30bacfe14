/** Random loops over consume: whatever they do with their leases, and however they end, each event stands as they said. */
import { FrozenClock, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type Consumption, consume, type HeldLease } from "@rheo/pipeline";
import { firstSeed, type Random, runs, seeded } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";
import { fill, numbers, turns } from "./fixtures/store.ts";

const EVENTS = 60;
const MAX_ATTEMPTS = 3;
/** Iterations of one run; each ends in some way, and another goes on. */
const MAX_ITERATIONS = 2_000;

type Said = "ack" | "nack" | "reject" | "release";

class Scene {
  readonly random: Random;
  readonly rheo: Rheo;
  readonly maxDemand: number;
  /** What was said of each event, as the store answered. */
  readonly said = new Map<number, { readonly attempt: number; readonly what: Said }[]>();
  mostHeld = 0;

  constructor(random: Random, rheo: Rheo) {
    this.random = random;
    this.rheo = rheo;
    this.maxDemand = 1 + random.below(12);
  }

  async iterate(): Promise<void> {
    const leases = consume(this.rheo, "orders", "g", { maxDemand: this.maxDemand });
    const loops = numbers(1 + this.random.below(3)).map(() => this.#loop(leases));
    const over = turns(20 + this.random.below(200)).then(() => leases.close()); // for loops that wait, for events or for themselves
    await Promise.allSettled(loops);
    await over;
  }

  async #loop(leases: Consumption): Promise<void> {
    const background: Promise<void>[] = [];
    const source = this.random.chance(0.5) ? leases : leases.toReadable({ highWaterMark: this.random.below(6) });
    let left = this.random.below(15);
    for await (const lease of source as AsyncIterable<HeldLease<number>>) {
      this.mostHeld = Math.max(this.mostHeld, (await this.rheo.leases("orders", "g")).length);
      const settled = this.#settle(lease);
      if (this.random.chance(0.5)) await settled;
      else background.push(settled);
      left -= 1;
      if (left > 0) continue;
      if (this.random.chance(0.5)) break;
      throw new Error("scripted");
    }
    await Promise.all(background);
  }

  /** What is refused, since the lease is no longer ours, was not said. */
  async #settle(lease: HeldLease<number>): Promise<void> {
    await turns(this.random.below(3));
    const what = this.random.pick(["ack", "ack", "ack", "nack", "reject", "release", "nothing"] as const);
    if (what === "nothing") return;
    try {
      if (what === "nack") await lease.nack({ delayMs: 0 });
      else await lease[what]();
    } catch (error) {
      expect(error).toMatchObject({ code: "stale_lease" });
      return;
    }
    const { payload } = lease.event;
    this.said.set(payload, [...(this.said.get(payload) ?? []), { attempt: lease.attempt, what }]);
  }
}

describe.each(numbers(runs(40), firstSeed(1)))("random loops, seed %i", (seed) => {
  test("end every event as they said, and give back all else uncharged", async () => {
    const random = seeded(seed);
    await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock(), random: () => random.next() });
    await rheo.createStream("orders", { partitions: 1 + random.below(3) });
    await rheo.createGroup("orders", "g", { maxAttempts: MAX_ATTEMPTS });
    await fill(rheo, numbers(EVENTS));
    const scene = new Scene(random, rheo);
    for (let iteration = 0; (await rheo.lag("orders", "g")).lag > 0; iteration++) {
      expect(iteration).toBeLessThan(MAX_ITERATIONS);
      await scene.iterate();
      expect(await rheo.leases("orders", "g")).toEqual([]);
    }
    expect(scene.mostHeld).toBeLessThanOrEqual(scene.maxDemand);
    const dead = new Set((await rheo.deadLetters("orders", "g", { limit: EVENTS })).map(({ event }) => event?.payload));
    for (const n of numbers(EVENTS)) {
      const history = scene.said.get(n) ?? [];
      const attempts = history.map((_, index) => 1 + history.slice(0, index).filter(({ what }) => what === "nack").length);
      expect([n, history.map(({ attempt }) => attempt)]).toEqual([n, attempts]);
      expect([n, dead.has(n)]).toEqual([n, history.at(-1)?.what !== "ack"]);
    }
  });
});
