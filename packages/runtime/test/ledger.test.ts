import type { Grant, SettleOutcome } from "@rheo/core";
import { type Batch, Ledger, type Place } from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const grant = (token: number, count: number): Grant => ({
  partition: 0,
  token,
  attempt: 1,
  leasedAtMs: 0,
  expiresAtMs: 30_000,
  events: Array.from({ length: count }, (_, n) => ({
    id: `${token}-${n}`,
    partition: 0,
    sequence: token * 1_000 + n + 1,
    timestampMs: 0,
    type: null,
    key: null,
    metadata: "{}",
    payload: "0",
  })),
});

const failed: SettleOutcome = { kind: "retry", delayMs: 0, reason: "again", stack: null };

describe("the ledger", () => {
  test("settles the acks of a grant together, by rising sequence, whatever the order they came in", () => {
    const ledger = new Ledger();
    ledger.add(grant(1, 4), 0, 30_000);
    const places = ledger.takeMany(10);
    for (const at of [3, 0, 2, 1]) finish(ledger, places[at], at === 2 ? failed : null);
    expect(ledger.takeSettlements().map(({ settlement }) => [settlement.sequences, settlement.outcome.kind])).toEqual([
      [[1_003], "retry"],
      [[1_001, 1_002, 1_004], "ack"],
    ]);
  });

  test("what was given back is handed out again, first", () => {
    const ledger = new Ledger();
    ledger.add(grant(1, 2), 0, 30_000);
    ledger.add(grant(2, 2), 0, 30_000);
    const [first] = ledger.takeMany(3);
    if (first === undefined) throw new Error("nothing was taken");
    ledger.giveBack(first.batch, first.index);
    expect(ledger.takeMany(10).map(({ batch, index }) => batch.sequenceAt(index))).toEqual([1_001, 2_002]);
  });

  test("an interrupted handler's ack counts; its failure is a release", () => {
    const ledger = new Ledger();
    ledger.add(grant(1, 2), 0, 30_000);
    const places = ledger.takeMany(2);
    for (const { batch, index } of places) ledger.interrupt(batch, index);
    finish(ledger, places[0], null);
    finish(ledger, places[1], failed);
    expect(ledger.takeSettlements().map(({ settlement }) => settlement.outcome.kind)).toEqual(["ack", "release"]);
  });

  test("only what was fetched long ago is released as overdue", () => {
    const ledger = new Ledger();
    ledger.add(grant(1, 2), 0, 30_000);
    ledger.add(grant(2, 2), 500, 30_000);
    ledger.takeMany(1);
    expect([ledger.releaseHeld(400), ledger.unstarted]).toEqual([1, 2]);
  });

  test("whatever happens to them, in whatever order, each delivery is settled, released or lost exactly once", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(8), fc.nat(30)), { maxLength: 200 }), (moves) => {
        const ledger = new Ledger();
        const running: Place[] = [];
        let [granted, ended, token] = [0, 0, 0];
        const drop = (place: Place): void => void running.splice(running.indexOf(place), 1);
        const settle = (): void => {
          for (const { batch, indexes } of ledger.takeSettlements())
            for (const index of indexes) if (ledger.settled(batch, index)) ended += 1;
        };
        const end = (place: Place, pick: number): void => {
          const settles = ledger.finish(place.batch, place.index, pick % 2 === 0 ? null : failed);
          if (!settles) ended += 1;
          drop(place);
        };
        const act = (move: number, pick: number): void => {
          const place = running[pick % Math.max(1, running.length)];
          if (move === 0) {
            ledger.add(grant(++token, pick), 0, 30_000);
            granted += pick;
          } else if (move <= 2) running.push(...ledger.takeMany(pick));
          else if (move === 3 && place !== undefined) end(place, pick);
          else if (move === 4 && place !== undefined) {
            if (!ledger.giveBack(place.batch, place.index)) ended += 1;
            drop(place);
          } else if (move === 5 && place !== undefined) ledger.interrupt(place.batch, place.index);
          else if (move === 6) ended += loseOne(ledger, pick);
          else if (move === 7) ledger.releaseHeld(1);
          else if (move === 8) settle();
        };
        for (const [move, pick] of moves) act(move, pick);
        for (const place of [...running]) act(3, running.indexOf(place));
        ledger.releaseHeld(1);
        settle();
        expect([ended, ledger.isEmpty, ledger.unstarted]).toEqual([granted, true, 0]);
      }),
      { numRuns: 300 },
    );
  });
});

const finish = (ledger: Ledger, place: Place | undefined, outcome: SettleOutcome | null): void => {
  if (place === undefined) throw new Error("nothing was taken");
  ledger.finish(place.batch, place.index, outcome);
};

/** 1 when that ended a delivery at once; one that runs ends later. */
const loseOne = (ledger: Ledger, pick: number): number => {
  const [batch]: (Batch | undefined)[] = [...ledger.batches];
  if (batch === undefined) return 0;
  const place = ledger.lose(batch, pick % batch.states.length);
  return place === "unstarted" || place === "unsettled" ? 1 : 0;
};
