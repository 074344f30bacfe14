import { FrozenClock, Rheo, RheoError } from "@rheo/core";
import { clockDiagnosis } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import { describe, expect, test } from "vitest";

describe("diagnose", () => {
  test("tells of this process and of the connection, also where the store has nothing to say", async () => {
    await using rheo = await Rheo.open({ backend: memory() });
    const found = await rheo.diagnose();
    expect(found.map(({ check, status, fix }) => [check, status, fix])).toEqual([
      ["node", "ok", null],
      ["connection", "ok", null],
    ]);
  });

  test("a store that answers slowly is a warning, one that does not a failure, each with what to do", async () => {
    const clock = new FrozenClock();
    const backend = memory();
    await using rheo = await Rheo.open({ backend, clock });
    backend.ping = async () => clock.advance(300);
    const [, slow] = await rheo.diagnose();
    expect(slow).toMatchObject({ status: "warn", message: "memory answers in 300.0 ms", fix: expect.stringContaining("nearer") });
    backend.ping = async () => {
      throw new RheoError("unavailable", "It is away.");
    };
    const [, away] = await rheo.diagnose();
    expect(away).toMatchObject({ check: "connection", status: "fail", message: "It is away.", fix: expect.any(String) });
  });

  test("what the store says of itself comes last", async () => {
    const backend = memory();
    await using rheo = await Rheo.open({ backend });
    const told = { check: "weather", status: "warn", message: "rain", fix: "Take an umbrella." } as const;
    backend.diagnose = async () => [told];
    expect((await rheo.diagnose()).at(-1)).toEqual(told);
  });

  test("is refused once closed", async () => {
    const rheo = await Rheo.open("memory:");
    await rheo.close();
    await expect(rheo.diagnose()).rejects.toMatchObject({ code: "closed" });
  });
});

describe("clocks", () => {
  test.each([
    [1_000_000, 1_000_000, 1_000_010, "ok"],
    [1_000_900, 1_000_000, 1_000_000, "ok"],
    [1_005_000, 1_000_000, 1_000_010, "warn"],
    [995_000, 1_000_000, 1_000_010, "warn"],
    // the answer may have been read at any moment of a long call
    [1_005_000, 1_000_000, 1_009_000, "ok"],
  ] as const)("the store's %i between %i and %i is %s", (storeMs, beforeMs, afterMs, status) => {
    expect(clockDiagnosis(storeMs, beforeMs, afterMs)).toMatchObject({ check: "clock", status });
  });

  test("says which is ahead", () => {
    expect(clockDiagnosis(5_000, 0, 0).message).toBe("the store's clock is 5000 ms ahead of this host's");
    expect(clockDiagnosis(0, 5_000, 5_000).message).toBe("the store's clock is 5000 ms behind this host's");
  });
});
