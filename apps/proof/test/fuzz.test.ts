/** Fuzz at the doors: a value or an error with a public code, whatever comes in. `npm run fuzz` goes on with other seeds. */
import { firstSeed, runs } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { commandLines } from "../dist/fuzz/command-line.js";
import { cursors } from "../dist/fuzz/cursors.js";
import { definitions } from "../dist/fuzz/definitions.js";
import { everyHostile } from "../dist/fuzz/hostile.js";
import { judge, pollution } from "../dist/fuzz/judge.js";
import { methods } from "../dist/fuzz/methods.js";
import { outcomes } from "../dist/fuzz/outcomes.js";
import { filters, names, payloads } from "../dist/fuzz/payloads.js";
import { urls } from "../dist/fuzz/urls.js";

const FIRST = firstSeed(1);

/** Cases that keep each door to a few seconds. */
const DOORS = [
  { door: names, cases: 15 },
  { door: payloads, cases: 20 },
  { door: filters, cases: 10 },
  { door: cursors, cases: 15 },
  { door: methods, cases: 30 },
  { door: definitions, cases: 150 },
  { door: outcomes, cases: 40 },
  { door: urls, cases: 40 },
  { door: commandLines, cases: 30 },
] as const;

test.each(DOORS)("$door.name: nothing but values and refusals", async ({ door, cases }) => {
  const asked = runs(cases);
  const { counts, faults } = await door.knock(FIRST, asked);
  expect(faults, `npm run fuzz -- --minutes 0 --door ${door.name} --seed ${FIRST}`).toEqual([]);
  expect(counts.calls).toBeGreaterThan(asked / 2);
});

test("the judge finds what is to be found", async () => {
  expect(await judge(() => JSON.parse("{"))).toMatchObject({ kind: "fault" });
  expect(await judge(() => Promise.reject(new TypeError("no")))).toMatchObject({ kind: "fault" });
  expect(
    await judge(() => Promise.reject(Object.assign(new Error("no"), { name: "RheoError", code: "no_such_code" }))),
  ).toMatchObject({ kind: "fault" });
  expect(await judge(() => new Promise(() => undefined), true)).toEqual({ kind: "waits" });
  expect(pollution()).toBeNull();
  Object.defineProperty(Object.prototype, "polluted", { value: true, configurable: true });
  expect(pollution()).not.toBeNull();
  Reflect.deleteProperty(Object.prototype, "polluted");
  expect(new Set(everyHostile.map(({ name }) => name)).size).toBe(everyHostile.length);
});
