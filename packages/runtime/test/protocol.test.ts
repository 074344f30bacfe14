import type { Outcome } from "@rheo/core";
import { MAX_SLICE, SessionGate, SliceMemory, SliceSizer } from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ kind: "ack" }),
  fc.constant<Outcome>({ kind: "release" }),
  fc.record({
    kind: fc.constant("retry" as const),
    delayMs: fc.option(fc.integer({ min: 0, max: 31_622_400_000 })),
    reason: fc.string({ minLength: 1, maxLength: 50, unit: "grapheme" }),
    stack: fc.option(fc.string({ minLength: 1, maxLength: 200 })),
  }),
  fc.record({
    kind: fc.constant("reject" as const),
    reason: fc.string({ minLength: 1, maxLength: 50 }),
    stack: fc.constant(null),
  }),
);

const storable = (outcome: Outcome): boolean =>
  !("reason" in outcome) || (!outcome.reason.includes("\0") && !(outcome.stack ?? "").includes("\0"));

describe("the memory of a slice", () => {
  test("gives back any outcomes as they were written", () => {
    fc.assert(
      fc.property(fc.array(outcomes.filter(storable), { minLength: 1, maxLength: 40 }), (written) => {
        const memory = new SliceMemory();
        const other = new SliceMemory(memory.buffer);
        memory.reset(written.length);
        written.forEach((outcome, index) => {
          expect(other.begin(index)).toBe(true);
          other.finish(index, outcome, written.length - index - 1);
        });
        expect(written.map((_, index) => memory.outcomeAt(index))).toEqual(written);
      }),
    );
  });

  test("a delivery either begins or is taken back, never both", () => {
    const memory = new SliceMemory();
    memory.reset(2);
    expect([memory.begin(0), memory.cancel(0), memory.cancel(1), memory.begin(1)]).toEqual([true, false, true, false]);
  });

  test("every failure of a full slice keeps a reason, however long the others are", () => {
    const memory = new SliceMemory();
    memory.reset(MAX_SLICE);
    for (let index = 0; index < MAX_SLICE; index++) {
      memory.begin(index);
      memory.finish(
        index,
        { kind: "retry", delayMs: null, reason: `é${index} ${"x".repeat(10_000)}`, stack: "y".repeat(100_000) },
        MAX_SLICE - index - 1,
      );
    }
    for (let index = 0; index < MAX_SLICE; index++) {
      const outcome = memory.outcomeAt(index);
      expect("reason" in outcome && outcome.reason.startsWith(`é${index} xxx`)).toBe(true);
    }
  });

  test("is clean again after a reset", () => {
    const memory = new SliceMemory();
    memory.reset(1);
    memory.tookUs = 7;
    memory.peak = 3;
    memory.begin(0);
    memory.reset(1);
    expect([memory.tookUs, memory.peak, memory.stateAt(0)]).toEqual([0, 0, 0]);
  });
});

describe("the gate of a session", () => {
  test("closes only for a thread that knows every slice that was announced, and then takes no more", () => {
    const memory = new SliceMemory();
    const main = new SessionGate(memory);
    const thread = new SessionGate(memory);
    main.open();
    expect(main.announce(1)).toBe(true);
    expect(thread.close(1), "another is on its way").toBe(false);
    expect(thread.close(2)).toBe(true);
    expect(main.announce(2)).toBe(false);
  });
});

describe("the size of slices", () => {
  test("is the number of handlers at once before anything is known", () => {
    expect(new SliceSizer().size(1_000, 1, 4)).toBe(4);
  });

  test("grows to the maximum for fast handlers, and shrinks to 1 for slow synchronous ones", () => {
    const sizer = new SliceSizer();
    for (let n = 0; n < 20; n++) sizer.onSlice(100, 0.1, 0);
    expect(sizer.size(10_000, 2, 4)).toBe(MAX_SLICE);
    for (let n = 0; n < 20; n++) sizer.onSlice(1, 1_000, 0);
    expect(sizer.size(10_000, 2, 4)).toBe(1);
  });

  test("stays at the number of handlers at once for slow ones that wait", () => {
    const sizer = new SliceSizer();
    for (let n = 0; n < 20; n++) sizer.onSlice(4, 1_000, 4);
    expect(sizer.size(10_000, 2, 4)).toBe(4);
  });

  test("shares what there is between free threads", () => {
    expect(new SliceSizer().size(5, 2, 8)).toBe(3);
  });
});
