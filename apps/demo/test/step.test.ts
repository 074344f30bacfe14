import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../src/exit-code.ts";
import { Terminal } from "../src/print/terminal.ts";
import { printStep } from "../src/print/text.ts";
import { type Audience, allOk, Found, play, type Step } from "../src/step.ts";

interface Scene {
  readonly signal: AbortSignal;
}

const DEAF: Audience = { stepStarted: () => {}, stepProgress: () => {}, stepEnded: () => {} };
const scene: Scene = { signal: new AbortController().signal };

const step = (name: string, run: Step<Scene>["run"]): Step<Scene> => ({ name, doing: name, run });
const holds = step("holds", async () => ({ detail: "seen", expected: { "one is one": true } }));
const wrong = step("wrong", async () => ({ detail: "seen", expected: { "one is one": true, "one is two": false } }));
const throws = step("throws", async () => Promise.reject(new Error("the store is gone")));

describe("a story", () => {
  it("is ok when every expectation holds, and then the exit code is 0", async () => {
    const reports = await play([holds, holds], scene, DEAF);
    expect(reports.map(({ name, ok, detail }) => ({ name, ok, detail }))).toEqual([
      { name: "holds", ok: true, detail: "seen" },
      { name: "holds", ok: true, detail: "seen" },
    ]);
    expect(exitCodeOf({ ok: allOk(reports) })).toBe(0);
  });

  it("ends at the first expectation that does not hold, and then the exit code is 1", async () => {
    const reports = await play([holds, wrong, holds], scene, DEAF);
    expect(reports.map(({ name, ok }) => [name, ok])).toEqual([
      ["holds", true],
      ["wrong", false],
    ]);
    expect(reports[1]?.expected).toEqual([
      { what: "one is one", ok: true },
      { what: "one is two", ok: false },
    ]);
    expect(exitCodeOf({ ok: allOk(reports) })).toBe(1);
  });

  it("takes a step that throws for one that failed, with the reason as its detail", async () => {
    const [report] = await play([throws], scene, DEAF);
    expect(report).toMatchObject({ ok: false, detail: "the store is gone" });
  });

  it("reports nothing of a step that was broken off", async () => {
    const interrupt = new AbortController();
    const ended: string[] = [];
    const interrupted = step("interrupted", async () => {
      interrupt.abort();
      return Promise.reject(new Error("killed"));
    });
    const playing = play([interrupted], { signal: interrupt.signal }, { ...DEAF, stepEnded: ({ name }) => ended.push(name) });
    await expect(playing).rejects.toThrow("aborted");
    expect(ended).toEqual([]);
  });
});

describe("what a step finds", () => {
  it("is not to be had before", () => {
    const found = new Found<number>();
    expect(found.getOrNull()).toBeNull();
    expect(() => found.get()).toThrow("earlier");
    expect(found.set(0)).toBe(0);
    expect(found.get()).toBe(0);
  });
});

describe("a printed step", () => {
  it("names what was expected and is not so", async () => {
    let text = "";
    const terminal = new Terminal({ isTTY: false, columns: 80, write: (part: string) => (text += part) });
    for (const report of await play([holds, wrong], scene, DEAF)) printStep(terminal, report);
    expect(text).toMatch(/✔ holds +seen\n +✘ wrong +seen\n +not so: one is two\n/);
    expect(text).not.toContain("one is one");
  });
});
