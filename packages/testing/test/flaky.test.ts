import { FrozenClock, Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { flaky } from "@rheo/testing";
import { seeded } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "fine",
    (error: unknown) => (RheoError.is(error) ? error.code : "other"),
  );

/** What becomes of a number of appends. */
const appends = async (options: Parameters<typeof flaky>[1], count: number): Promise<{ codes: string[]; stored: number }> => {
  const store = memory();
  const safe = await Rheo.open({ backend: store });
  await safe.createStream("s");
  const backend = flaky(store, options);
  const rheo = await Rheo.open({ backend });
  const codes: string[] = [];
  for (let n = 0; n < count; n++) codes.push(await codeOf(rheo.append("s", { payload: n })));
  const { events } = await safe.streamInfo("s");
  await rheo.close();
  await safe.close();
  return { codes, stored: events };
};

describe("flaky", () => {
  test("without rates nothing fails", async () => {
    const { codes, stored } = await appends({ seed: 1 }, 20);
    expect(new Set(codes)).toEqual(new Set(["fine"]));
    expect(stored).toBe(20);
  });

  test("what is lost was applied, what is refused was not", async () => {
    const { codes, stored } = await appends({ seed: 1, lose: 0.3, refuse: 0.3 }, 200);
    const count = (code: string): number => codes.filter((found) => found === code).length;
    expect(stored).toBe(count("fine") + count("outcome_unknown"));
    for (const code of ["fine", "outcome_unknown", "unavailable"]) expect(count(code)).toBeGreaterThan(20);
  });

  test("a seed repeats its faults, another has others", async () => {
    const one = await appends({ seed: 7, lose: 0.5 }, 50);
    expect(await appends({ seed: 7, lose: 0.5 }, 50)).toEqual(one);
    expect((await appends({ seed: 8, lose: 0.5 }, 50)).codes).not.toEqual(one.codes);
  });

  test("planned faults come first, one call each, and a calm backend has no others", async () => {
    const backend = flaky(memory(), { seed: 1, refuse: 1 });
    backend.failNext("createStream", "fine", "lost");
    const rheo = await Rheo.open({ backend });
    backend.failNext("watermarks", "fine");
    expect(await codeOf(rheo.createStream("a"))).toBe("fine");
    expect(await codeOf(rheo.createStream("b"))).toBe("outcome_unknown");
    expect(await codeOf(rheo.createStream("c"))).toBe("unavailable");
    backend.calm();
    expect((await rheo.listStreams()).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(backend.injected).toMatchObject({ lost: 1, refused: 1 });
    await rheo.close();
  });

  test("delays are of the injected clock", async () => {
    const clock = new FrozenClock();
    const rheo = await Rheo.open({ backend: flaky(memory(), { seed: 3, delay: 1, maxDelayMs: 1_000 }), clock });
    let done = false;
    const ping = rheo.ping().then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    for (let step = 0; step < 10 && !done; step++) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ping;
    expect(done).toBe(true);
    await rheo.close();
  });

  test("options are checked", () => {
    expect(() => flaky(memory(), { seed: 1, lose: 2 })).toThrow(RheoError);
    expect(() => flaky(memory(), { seed: 1, nonsense: 1 } as never)).toThrow(/nonsense/);
  });

  test("seeded choices repeat, and stay in their range", () => {
    const [one, two] = [seeded(5), seeded(5)];
    for (let n = 0; n < 1_000; n++) {
      const drawn = one.below(7);
      expect(drawn).toBe(two.below(7));
      expect(drawn >= 0 && drawn < 7).toBe(true);
    }
  });
});
