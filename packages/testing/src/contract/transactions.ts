/** Settling and appending in the caller's own transaction (T8), what a restart keeps, and what answers where a capability is off. */
import type { Capabilities, Lease, Rheo } from "@rheo/core";
import { ack } from "@rheo/core";
import { expect } from "vitest";
import type { CallerTransaction } from "../store.ts";
import { type ContractCase, rule } from "./case.ts";
import { at, refusal, sequencesOf, stale, upTo } from "./expectations.ts";
import { GROUP, STREAM, type World } from "./world.ts";

const withTransactions = ({ transactions }: Capabilities): boolean => transactions;
const without = ({ transactions }: Capabilities): boolean => !transactions;

/** Runs in a transaction of the caller's, which is rolled back if that throws. */
const inTransaction = async (
  world: World,
  end: "commit" | "rollback",
  work: (caller: CallerTransaction) => Promise<void>,
): Promise<void> => {
  const caller = await world.transactions.begin();
  try {
    await work(caller);
  } catch (error) {
    await caller.rollback();
    throw error;
  }
  await caller[end]();
};

const SETTLES: readonly (readonly [
  name: string,
  settle: (rheo: Rheo, lease: Lease, transaction: unknown) => Promise<unknown>,
  state: string,
])[] = [
  ["ack", (rheo, lease, transaction) => rheo.ack(lease, { transaction }), "acked"],
  ["nack", (rheo, lease, transaction) => rheo.nack(lease, { delayMs: 60_000, transaction }), "retrying"],
  ["reject", (rheo, lease, transaction) => rheo.reject(lease, { transaction }), "dead"],
  ["release", (rheo, lease, transaction) => rheo.release(lease, { transaction }), "pending"],
];

const on: readonly ContractCase[] = [
  ...SETTLES.map(([name, settle, state]) =>
    rule(
      "T8",
      `${name} in the caller's transaction commits with the caller's writes, or is rolled back with them`,
      async (world) => {
        await world.group();
        const leases = await world.lease(3);
        const before = await world.snapshot();
        await inTransaction(world, "rollback", async (caller) => {
          await caller.note("lost");
          await settle(world.rheo, at(leases, 1), caller.transaction);
        });
        expect(await world.snapshot()).toEqual(before);
        expect(await world.transactions.notes()).toEqual([]);
        await inTransaction(world, "commit", async (caller) => {
          await caller.note("kept");
          await settle(world.rheo, at(leases, 1), caller.transaction);
        });
        expect(await world.state(2)).toBe(state);
        expect(await world.state(1)).toBe("leased");
        expect(await world.transactions.notes()).toEqual(["kept"]);
        await stale(world.rheo.ack(at(leases, 1)), "settled");
        await world.rheo.ack(at(leases, 0));
        await world.rheo.ack(at(leases, 2));
      },
    ),
  ),
  rule("T8 F2", "a stale lease throws inside the transaction, so that the caller's writes are rolled back", async (world) => {
    await world.group();
    const lease = at(await world.lease(1), 0);
    world.expire();
    const taken = await world.peerTakeOne();
    const before = await world.snapshot();
    await stale(
      inTransaction(world, "commit", async (caller) => {
        await caller.note("never");
        await world.rheo.ack(lease, { transaction: caller.transaction });
      }),
      "reclaimed",
    );
    expect(await world.snapshot()).toEqual(before);
    expect(await world.transactions.notes()).toEqual([]);
    await world.peer.ack(taken);
  }),
  rule("T8", "a batch of settles commits or rolls back as one", async (world) => {
    await world.group();
    const leases = await world.lease(4);
    const items = leases.map((lease) => ({ lease, outcome: ack() }));
    const before = await world.snapshot();
    await inTransaction(world, "rollback", async ({ transaction }) => {
      const answers = await world.rheo.settle(items, { transaction });
      expect(answers.every(({ status }) => status === "settled")).toBe(true);
    });
    expect(await world.snapshot()).toEqual(before);
    await inTransaction(world, "commit", async ({ transaction }) => void (await world.rheo.settle(items, { transaction })));
    expect(await world.lag()).toBe(0);
  }),
  rule("T8", "an append in the caller's transaction is an outbox: it becomes visible with the caller's writes", async (world) => {
    await world.group();
    await inTransaction(world, "commit", async (caller) => {
      await caller.note("order 1");
      const event = await world.rheo.append(STREAM, { payload: "order 1", id: "x" }, { transaction: caller.transaction });
      expect(event.sequence).toBe(1);
    });
    expect((await world.peer.getEvent(STREAM, "x"))?.payload).toBe("order 1");
    expect(await world.transactions.notes()).toEqual(["order 1"]);
    expect(sequencesOf(await world.drain())).toEqual([1]);
  }),
  rule("T8 L1 B04", "appends that are rolled back leave no gap, no id, and hold nothing up", async (world) => {
    await world.group();
    for (let round = 0; round < 10; round++) {
      await inTransaction(world, "rollback", async ({ transaction }) => {
        await world.rheo.appendMany(STREAM, [{ payload: round, id: "x" }, { payload: round }], { transaction });
      });
    }
    expect(await world.peer.query(STREAM)).toEqual([]);
    const event = await world.rheo.append(STREAM, { payload: "kept", id: "x" });
    expect(event.sequence).toBe(1);
    expect(sequencesOf(await world.drain())).toEqual([1]);
    expect(await world.lag()).toBe(0);
  }),
  rule("T8 L6", "an append that is refused leaves the caller's transaction usable", async (world) => {
    await world.group();
    await world.append(1);
    await inTransaction(world, "commit", async (caller) => {
      await refusal(
        world.rheo.append(STREAM, { payload: 1, expectedSequence: 7 }, { transaction: caller.transaction }),
        "sequence_conflict",
      );
      await caller.note("went on");
      await world.rheo.append(STREAM, { payload: 2, expectedSequence: 1 }, { transaction: caller.transaction });
    });
    expect(await world.transactions.notes()).toEqual(["went on"]);
    expect(sequencesOf(await world.peer.query(STREAM))).toEqual([1, 2]);
  }),
  rule("T8", "append and ack in one transaction move work from one stream to another exactly once", async (world) => {
    await world.group();
    await world.rheo.createStream("next");
    for (const lease of await world.lease(5)) {
      const step = async ({ transaction }: CallerTransaction): Promise<void> => {
        await world.rheo.append("next", { payload: lease.event.payload }, { transaction });
        await world.rheo.ack(lease, { transaction });
      };
      await inTransaction(world, "rollback", step);
      await inTransaction(world, "commit", step);
    }
    expect(await world.lag()).toBe(0);
    expect((await world.peer.query("next")).map(({ payload }) => payload)).toEqual(upTo(5).map((n) => ({ n })));
  }),
];

const off: readonly ContractCase[] = [
  rule(
    "T8",
    "where transactions are not supported the option is refused, and nothing is done",
    async (world) => {
      await world.group();
      const lease = at(await world.lease(1), 0);
      const before = await world.snapshot();
      const transaction = {};
      for (const [, settle] of SETTLES) await refusal(settle(world.rheo, lease, transaction), "unsupported");
      await refusal(world.rheo.settle([{ lease, outcome: ack() }], { transaction }), "unsupported");
      await refusal(world.rheo.append(STREAM, { payload: 1 }, { transaction }), "unsupported");
      await refusal(world.rheo.appendMany(STREAM, [{ payload: 1 }], { transaction }), "unsupported");
      expect(await world.snapshot()).toEqual(before);
      await world.rheo.ack(lease);
    },
    without,
  ),
];

/** The whole of a group's progress, as it is after work of every kind. */
const worked = async (world: World): Promise<void> => {
  await world.group({ partitions: 2, maxAttempts: 3 });
  for (const partition of [0, 1]) await world.append(8, { partition });
  const leases = await world.take(12);
  await world.rheo.ack(at(leases, 0));
  await world.rheo.ack(at(leases, 3));
  await world.rheo.nack(at(leases, 1), { reason: "busy", delayMs: 60_000 });
  await world.rheo.reject(at(leases, 4), { reason: "bad" });
  await world.rheo.release(at(leases, 6));
};

const restarts: readonly ContractCase[] = [
  rule(
    "T2 B72",
    "a restart changes nothing that can be seen, and leases outlive it",
    async (world) => {
      await worked(world);
      const before = await world.snapshot();
      const held = await world.peer.leases(STREAM, GROUP);
      await world.reopen();
      expect(await world.snapshot()).toEqual(before);
      const [lease] = held;
      if (lease === undefined) expect.fail("no lease");
      await world.rheo.ack(lease);
      expect(await world.peer.leases(STREAM, GROUP)).toHaveLength(held.length - 1);
    },
    ({ persistent }) => persistent,
  ),
  rule(
    "T2",
    "what is not persistent lives as long as its backend object, whoever opens and closes it",
    async (world) => {
      await worked(world);
      const before = await world.snapshot();
      await world.reopen();
      expect(await world.snapshot()).toEqual(before);
    },
    ({ persistent }) => !persistent,
  ),
];

export const transactionCases: readonly ContractCase[] = [
  ...on.map((found) => ({ ...found, applies: withTransactions })),
  ...off,
  ...restarts,
];
