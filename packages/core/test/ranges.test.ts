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
      if (rest !== null) expect([rest.first, rest.open]).toEqual([openSequences(rest)[0], openSequences(rest).length]);
    }),
  );
});
