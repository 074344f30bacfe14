/** The list of wrong versions of the real code is in order, and a few of them, of every kind that needs no server, are noticed. */
import { misplaced, mutantNamed, runMutants, soberness, sourceMutants } from "@rheo/proof";
import { describe, expect, test } from "vitest";

/** One for each kind of killer; `npm run mutants` runs them all. */
const FEW = ["token-unchecked-for-single-leases", "sqlite-alone-on-one-side", "poll-not-armed-again", "suspects-are-guilty"];
const NO_SERVERS = { postgres: null, redis: null };

describe("mutants of the real code", () => {
  test("each finds its text exactly once in the compiled file", () => {
    expect(misplaced(sourceMutants)).toEqual([]);
  });

  test("each changes something, and has a name of its own", () => {
    expect(sourceMutants.filter(({ find, replace }) => find === replace)).toEqual([]);
    expect(new Set(sourceMutants.map(({ name }) => name)).size).toBe(sourceMutants.length);
    expect(sourceMutants.length).toBeGreaterThanOrEqual(45);
  });

  test("a few of them are noticed, and nothing is without them", { timeout: 120_000 }, async () => {
    const mutants = FEW.map(mutantNamed);
    expect(await soberness(mutants, NO_SERVERS)).toEqual([]);
    const verdicts = await runMutants(mutants, NO_SERVERS);
    expect(verdicts.map(({ mutant, kind }) => [mutant.name, kind])).toEqual(FEW.map((name) => [name, "killed"]));
  });

  test("one whose killer looks elsewhere survives", { timeout: 60_000 }, async () => {
    const killer = { by: "contract", on: "memory", cases: ["an empty batch is nothing"] } as const;
    const mutants = FEW.slice(0, 1).map((name) => ({ ...mutantNamed(name), killer }));
    expect((await runMutants(mutants, NO_SERVERS)).map(({ kind }) => kind)).toEqual(["survived"]);
  });
});
