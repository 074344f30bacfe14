import { expect, test } from "vitest";
import { deviation, median, summaryOf, variation } from "../src/results/statistics.ts";

test("the median is the middle value, or between the two in the middle, in any order", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([7])).toBe(7);
});

test("the median of nothing is not a number", () => {
  expect(median([])).toBeNaN();
});

test("one wild run does not move the deviation", () => {
  expect(deviation([10, 11, 9, 10, 1_000])).toBe(1);
});

test("the variation is a share of the median, and 0 where that is 0", () => {
  expect(variation([90, 100, 110])).toBeCloseTo(0.1);
  expect(variation([0, 0])).toBe(0);
});

test("a summary has the runs and both ends", () => {
  expect(summaryOf([5, 1, 3])).toEqual({ median: 3, min: 1, max: 5, deviation: 2, runs: 3 });
});
