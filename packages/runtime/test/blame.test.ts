import { blame, type Verdict } from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

/** Deliveries 0, 1, … that ran; what is special about each in words. */
const judge = (wasKilled: boolean, ...deliveries: readonly ("plain" | "late" | "late, aborted" | "told to end")[]): Verdict =>
  blame({
    running: deliveries.map((_, index) => index),
    wasKilled,
    counts: (index) => deliveries[index] !== "told to end",
    isLate: (index) => deliveries[index]?.startsWith("late") === true,
    wasAborted: (index) => deliveries[index] === "late, aborted",
  });

describe("when a thread has died", () => {
  test("by itself, the only one that ran is guilty", () => {
    expect(judge(false, "plain")).toEqual({ guilty: [0], suspects: [], innocent: [] });
  });

  test("by itself, several are suspects, and nobody is charged", () => {
    expect(judge(false, "plain", "plain")).toEqual({ guilty: [], suspects: [0, 1], innocent: [] });
  });

  test("what was told to end is innocent, and does not hide who else ran", () => {
    expect(judge(false, "told to end", "plain")).toEqual({ guilty: [1], suspects: [], innocent: [0] });
  });

  test("because a late one ignored its signal, only the late are guilty", () => {
    expect(judge(true, "late, aborted", "plain", "late, aborted")).toEqual({ guilty: [0, 2], suspects: [], innocent: [1] });
  });

  test("because it was blocked, the only one that ran is guilty", () => {
    expect(judge(true, "late")).toEqual({ guilty: [0], suspects: [], innocent: [] });
  });

  test("because it was blocked, several are suspects", () => {
    expect(judge(true, "late", "plain", "late")).toEqual({ guilty: [], suspects: [0, 1, 2], innocent: [] });
  });

  test("because a drain ran out of time, nobody is charged", () => {
    expect(judge(true, "told to end", "plain")).toEqual({ guilty: [], suspects: [], innocent: [0, 1] });
  });

  test("each that ran is in exactly one place", () => {
    const kinds = fc.constantFrom("plain", "late", "late, aborted", "told to end");
    fc.assert(
      fc.property(fc.boolean(), fc.array(kinds, { maxLength: 20 }), (wasKilled, deliveries) => {
        const { guilty, suspects, innocent } = judge(wasKilled, ...deliveries);
        expect([...guilty, ...suspects, ...innocent].toSorted((a, b) => a - b)).toEqual(deliveries.map((_, index) => index));
      }),
    );
  });
});
