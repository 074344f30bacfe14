import { FrozenClock, systemClock } from "@rheo/core";
import { expect, test } from "vitest";

test("F6 · a frozen clock moves only when told to and fires timers at their own times, in order", () => {
  const clock = new FrozenClock(new Date(1_000));
  const fired: [string, number][] = [];
  clock.schedule(20, () => fired.push(["b", clock.now()]));
  clock.schedule(10, () => {
    fired.push(["a", clock.now()]);
    clock.schedule(5, () => fired.push(["nested", clock.now()]));
  });
  const cancelled = clock.schedule(15, () => fired.push(["cancelled", clock.now()]));
  cancelled.cancel();
  clock.advance(9);
  expect(fired).toEqual([]);
  clock.advance(100);
  expect(fired).toEqual([
    ["a", 1_010],
    ["nested", 1_015],
    ["b", 1_020],
  ]);
  expect(clock.now()).toBe(1_109);
});

test("F6 · set moves both ways; monotonic time never goes back", () => {
  const clock = new FrozenClock(new Date(1_000));
  clock.set(new Date(2_000));
  clock.set(new Date(500));
  expect([clock.now(), clock.monotonic()]).toEqual([500, 1_000]);
});

test("a frozen clock refuses to be advanced by what is not a duration", () => {
  expect(() => new FrozenClock().advance(-1)).toThrow(TypeError);
  expect(() => new FrozenClock().advance(Number.NaN)).toThrow(TypeError);
});

test("B134 · a delay above 2^31 ms does not fire at once", async () => {
  let fired = false;
  const timers = [30 * 86_400_000, 2 ** 31, Number.POSITIVE_INFINITY].map((delayMs) =>
    systemClock.schedule(delayMs, () => (fired = true)),
  );
  await new Promise((resolve) => systemClock.schedule(20, () => resolve(null)));
  for (const timer of timers) timer.cancel();
  expect(fired).toBe(false);
});
