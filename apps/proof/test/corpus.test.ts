/** Facts of the corpus that every store must keep, and that no other test states in whole: each named by its ids. */
import { ack, FrozenClock, type Lease, type Rheo, RheoError, reject } from "@rheo/core";
import { describe, expect, test } from "vitest";
import { numbers, stores, until } from "./corpus-stores.ts";

const LEASE_MS = 30_000;
/** Rounds of a race whose two ends meet in the same turn; fewer where a double of the server answers. */
const racesOn = (name: string): number => (name === "mongo" ? 24 : 80);
/** Events behind one that stays open; the double of MongoDB is too slow for as many. */
const outOfOrderOn = (name: string): number => (name === "mongo" ? 500 : 10_000);

const appendMany = (rheo: Rheo, count: number): Promise<unknown> =>
  rheo.appendMany(
    "s",
    numbers(count).map((n) => ({ payload: { n }, partition: 0 })),
  );

const drain = async (rheo: Rheo): Promise<Lease[]> => {
  const all: Lease[] = [];
  for (;;) {
    const leases = await rheo.fetch("s", "g", { limit: 1_000, consumerId: "drain" });
    if (leases.length === 0) return all;
    await rheo.settle(leases.map((lease) => ({ lease, outcome: ack() })));
    all.push(...leases);
  }
};

for (const { name, open } of stores()) {
  describe(`on ${name}`, () => {
    test("B15 thousands acked behind one that stays open: after a restart that one alone comes, and nothing of them is kept", async () => {
      const clock = new FrozenClock();
      const count = outOfOrderOn(name);
      const { first, again } = await open(clock);
      await first.createStream("s", { partitions: 1 });
      await first.createGroup("s", "g", { maxInflight: 20_000 });
      await appendMany(first, count);
      const [held, ...others] = await first.fetch("s", "g", { limit: count, maxBytes: 16_777_216 });
      await first.settle(others.map((lease) => ({ lease, outcome: ack() })));
      const rheo = await again();
      expect(await rheo.lag("s", "g")).toMatchObject({ lag: count });
      expect((await rheo.leases("s", "g")).map(({ sequence }) => sequence)).toEqual([1]);
      clock.advance(LEASE_MS + 1);
      const came = await drain(rheo);
      expect([held?.sequence, came.map(({ sequence, attempt }) => `${sequence}:${attempt}`)]).toEqual([1, ["1:2"]]);
      expect((await rheo.lag("s", "g")).lag).toBe(0);
      await rheo.close();
    });

    test("B37 B41 an ack or a reject that races with the takeover: one of the two has the delivery, and its content is whole", async () => {
      const clock = new FrozenClock();
      const { first, second } = await open(clock);
      await first.createStream("s", { partitions: 1 });
      await first.createGroup("s", "g", {});
      const races = racesOn(name);
      await appendMany(first, races);
      let [late, took] = [0, 0];
      for (let round = 1; round <= races; round++) {
        const [lease] = await first.fetch("s", "g", { limit: 1, consumerId: "a" });
        if (lease === undefined) return expect.unreachable("nothing came");
        clock.advance(LEASE_MS);
        // each goes first half of the time, and at times well before the other
        const isTakerFirst = round % 8 < 4;
        const taking = isTakerFirst ? second.fetch("s", "g", { limit: 1, consumerId: "b" }) : null;
        if (round % 8 === 1) await taking;
        const settled = (round % 2 === 0 ? first.ack(lease) : first.reject(lease, { reason: "no" })).then(
          () => true,
          (error: unknown) => {
            if (!RheoError.is(error, "stale_lease")) throw error;
            return false;
          },
        );
        if (round % 8 === 7) await settled;
        const [taken] = await (taking ?? second.fetch("s", "g", { limit: 1, consumerId: "b" }));
        const isTaken = taken?.sequence === lease.sequence;
        expect(await settled).toBe(!isTaken);
        if (taken !== undefined) {
          expect(taken.event.payload).toEqual({ n: taken.sequence });
          if (isTaken) await second.ack(taken);
          else await second.release(taken);
        }
        if (isTaken) took += 1;
        else late += 1;
      }
      const { lag, deadLetters } = await first.groupInfo("s", "g");
      expect(lag).toBe(0);
      expect([late > 0, took > 0, deadLetters <= races / 2]).toEqual([true, true, true]);
    });

    test("B105 by the store's own clock, finer than a millisecond or not, leases hold and dead letters are paged once each", async () => {
      const { first, second } = await open();
      await first.createStream("s", { partitions: 2 });
      await first.createGroup("s", "g", { leaseMs: 60_000, retry: { minMs: 0, maxMs: 0, jitter: 0 } });
      await first.appendMany(
        "s",
        numbers(40).map((n) => ({ payload: { n }, partition: n % 2 })),
      );
      const leases = await first.fetch("s", "g", { limit: 40, consumerId: "a" });
      const renewed = await second.renewMany(leases);
      expect(renewed.map(({ status }) => status)).toEqual(leases.map(() => "renewed"));
      for (const lease of leases.slice(0, 10)) await first.nack(lease, { reason: "again", delayMs: 0 });
      await first.settle(leases.slice(10).map((lease) => ({ lease, outcome: reject("no") })));
      const again = await second.fetch("s", "g", { limit: 40, consumerId: "b" });
      expect(again.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 10 }, () => 2));
      for (const lease of again) await second.reject(lease, { reason: "no" });
      const seen: string[] = [];
      for (let after: string | undefined; ; after = seen.at(-1)) {
        const page = await first.deadLetters("s", "g", { limit: 7, ...(after === undefined ? {} : { after }) });
        if (page.length === 0) break;
        seen.push(...page.map(({ eventId }) => eventId));
      }
      expect([seen.length, new Set(seen).size]).toEqual([40, 40]);
      expect((await first.lag("s", "g")).lag).toBe(0);
    });

    test("B139 what is appended while a member looks, subscribes and waits is delivered, however the two interleave", async () => {
      const { first, second } = await open();
      await first.createStream("s", { partitions: 1 });
      await first.createGroup("s", "g", {});
      const seen: number[] = [];
      for (let round = 1; round <= 25; round++) {
        const waiting = second.fetch("s", "g", { limit: 5, consumerId: "b", waitMs: 10_000 });
        for (let turn = 0; turn < round % 8; turn++) await new Promise((resolve) => setImmediate(resolve));
        await first.append("s", { payload: round });
        for (const lease of await waiting) {
          seen.push(lease.sequence);
          await second.ack(lease);
        }
      }
      expect(seen).toEqual(numbers(25));
    });

    test("B104 eight that open an empty store at the same moment all find one, and work in it", async () => {
      const { members } = await open(undefined, 8);
      await Promise.all(members.map((member) => member.ensureStream("s", { partitions: 2 })));
      await Promise.all(members.map((member) => member.ensureGroup("s", "g", {})));
      await Promise.all(members.map((member, n) => member.append("s", { payload: n, partition: n % 2 })));
      const [member] = members;
      expect((await member?.listStreams())?.map(({ name: stream }) => stream)).toEqual(["s"]);
      expect((await member?.lag("s", "g"))?.lag).toBe(8);
    });

    test("B05 a reader over all partitions that follows them misses nothing that came later with an earlier time", async () => {
      const { first, second } = await open();
      await first.createStream("s", { partitions: 3 });
      const stop = new AbortController();
      const seen: number[] = [];
      let reading: Promise<void> | null = null;
      for (const n of numbers(12)) {
        await first.append("s", { payload: n, partition: (2 * n) % 3, timestamp: new Date(1_700_000_000_000 - n) });
        reading ??= (async () => {
          for await (const { payload } of second.tail("s", { signal: stop.signal })) seen.push(Number(payload));
        })();
        await until(`${n} was read`, () => seen.length >= n);
      }
      stop.abort();
      await reading;
      expect(seen).toEqual(numbers(12));
    });
  });
}
