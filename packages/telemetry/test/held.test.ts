import { Held, heldKey } from "@rheo/telemetry/internal";
import { expect, test } from "vitest";

const KEY = heldKey("orders", "g", 0, 1);

test("what was put is found by its sequence and taken once, gaps and all", () => {
  const held = new Held<string>(() => undefined);
  held.put(KEY, [2, 3, 7, 9], ["two", "three", undefined, "nine"]);
  expect(held.get(KEY, 9)).toBe("nine");
  expect([1, 2, 3, 4, 7, 8, 9, 10].map((sequence) => held.take(KEY, sequence))).toEqual([
    undefined,
    "two",
    "three",
    undefined,
    undefined,
    undefined,
    "nine",
    undefined,
  ]);
  expect(held.take(KEY, 9)).toBeUndefined();
  expect(held.size).toBe(0);
});

test("one token may stand for several grants of one fetch", () => {
  const held = new Held<string>(() => undefined);
  held.put(KEY, [5], ["retried"]);
  held.put(KEY, [6, 7], ["six", "seven"]);
  expect(held.take(KEY, 7)).toBe("seven");
  expect(held.take(KEY, 5)).toBe("retried");
  expect(held.get(KEY, 6)).toBe("six");
  expect(held.size).toBe(1);
});

test("what nobody takes is forgotten, oldest first, so that it never grows", () => {
  const forgotten: string[] = [];
  const held = new Held<string>((item) => forgotten.push(item), 4);
  for (let token = 1; token <= 100; token++)
    held.put(heldKey("orders", "g", 0, token), [token, token + 1], [`${token}a`, `${token}b`]);
  expect(held.size).toBe(4);
  expect(forgotten.slice(0, 3)).toEqual(["1a", "1b", "2a"]);
  held.clear();
  expect(held.size).toBe(0);
  expect(forgotten).toHaveLength(200);
});
