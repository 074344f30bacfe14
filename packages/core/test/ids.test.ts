import { uuidv7Source } from "@rheo/core/internal";
import { expect, test } from "vitest";

const SHAPE = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("L4 · ids are UUIDv7 with the time in front", () => {
  const id = uuidv7Source()(0x0190_1234_5678);
  expect(id).toMatch(SHAPE);
  expect(id.slice(0, 13)).toBe("01901234-5678");
});

test("L4 · ids of one source rise and differ, within a millisecond and when the clock goes back", () => {
  const next = uuidv7Source();
  const ids = Array.from({ length: 20_000 }, (_, index) => next(index % 3 === 0 ? 1_000 : 999));
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids.slice(-10)) expect(id).toMatch(SHAPE);
});
