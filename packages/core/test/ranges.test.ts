import fc from "fast-check";
import { expect, test } from "vitest";
import { openSequences, rangeOf, withoutSequences } from "../src/progress/ranges.ts";
import type { RangeLease } from "../src/progress/records.ts";

const rising = fc
  .uniqueArray(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 60 })
  .map((list) => list.sort((a, b) => a - b));

const lease = (sequences: readonly number[]): RangeLease => ({
  ...rangeOf(sequences),
  token: 1,
  attempt: 1,
  takeovers: 0,
  alone: 0,
  consumerId: "a",
  leasedAtMs: 0,
  expiresAtMs: 1,
  firstFailedAtMs: null,
});

test("a range holds exactly the sequences it was made of", () => {
  fc.assert(
    fc.property(rising, (sequences) => {
      const range = rangeOf(sequences);
      expect(openSequences(range)).toEqual(sequences);
      expect(range.open).toBe(sequences.length);
    }),
  );
});

test("cutting sequences out of a range leaves the others, and nothing when all are cut", () => {
  fc.assert(
    fc.property(rising, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (sequences, picks) => {
      const cut = sequences.filter((_, index) => picks[index]);
      const rest = withoutSequences(lease(sequences), cut);
      expect(rest === null ? [] : openSequences(rest)).toEqual(sequences.filter((sequence) => !cut.includes(sequence)));
      if (rest !== null) expect(rest).toEqual(lease(openSequences(rest)));
    }),
  );
});

test("a wide lease that is cut again and again holds what is left, as narrowly as it can", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.array(fc.array(fc.nat(499), { maxLength: 40 })), (width, cuts) => {
      let open = Array.from({ length: width }, (_, index) => index + 1);
      let rest: RangeLease | null = lease(open);
      for (const cut of cuts) {
        const gone = open.filter((_, index) => cut.includes(index));
        if (rest === null || gone.length === 0) continue;
        open = open.filter((sequence) => !gone.includes(sequence));
        rest = withoutSequences(rest, gone);
        expect(rest).toEqual(open.length === 0 ? null : lease(open));
      }
    }),
  );
});
