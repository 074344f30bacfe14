/** `rheo top`: what it shows of a store that is at work, and what keys do. */

import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { Running, run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

/** The last frame that was drawn. */
const frame = (top: Running): string => stripVTControlCharacters(top.out.split("\u001b[H").at(-1) ?? "");

const start = (): Running =>
  new Running("top --every 200ms", { store: scene.store, stdin: [], columns: 120, rows: 20, env: { NO_COLOR: "1" } });

describe("at a terminal", () => {
  test("shows all groups with what they have, the furthest behind first, and q ends it as it was", async () => {
    const top = start();
    await until("it has looked", () => frame(top).includes("billing"));
    expect(frame(top)).toMatch(/lag 12 {2}in flight 1 {2}dead 1 {2}members 1 {2}by lag/);
    expect(frame(top)).toMatch(/^> {2}orders +audit +7 [\s\S]*^ {3}orders +billing +5 /m);
    expect(top.isRaw).toBe(true);
    top.type("q");
    expect([await top.code, top.isRaw, top.err]).toEqual([0, false, ""]);
    expect([top.out.startsWith("\u001b[?1049h"), top.out.endsWith("\u001b[?25h\u001b[?1049l")]).toEqual([true, true]);
  });

  test("keys mark a group, show its members, sort and hold; Ctrl-C ends with 130", async () => {
    const top = start();
    await until("it has looked", () => frame(top).includes("billing"));
    top.type("\u001b[B\r");
    await until("the members show", () => frame(top).includes("worker-1"));
    expect(frame(top)).toMatch(/^> {2}orders +billing/m);
    top.type("s");
    await until("it sorts otherwise", () => frame(top).includes("by dead"));
    top.type("p");
    await until("it holds", () => frame(top).includes(" held"));
    top.type("\u0003");
    expect(await top.code).toBe(130);
  });

  test("a signal ends it too, and leaves the terminal as it was", async () => {
    const top = start();
    await until("it has looked", () => frame(top).includes("billing"));
    top.signal("SIGTERM");
    expect([await top.code, top.out.endsWith("\u001b[?25h\u001b[?1049l")]).toEqual([143, true]);
  });

  test("of a stream that is not there is refused", async () => {
    const { code, err } = await run("top nowhere", { ...scene, stdin: [], columns: 80 });
    expect([code, err]).toEqual([1, expect.stringContaining('Stream "nowhere" does not exist')]);
  });
});

describe("as JSON", () => {
  test("a look whenever it differs, with rates from the second on", async () => {
    await using other = await openScene();
    const top = new Running("top orders --every 100ms --json", { store: other.store });
    await until("the first look", () => values(top.out).length >= 1);
    await other.rheo.appendMany(
      "orders",
      Array.from({ length: 50 }, () => ({ payload: 1 })),
    );
    await until("a rate", () => values(top.out).some((value) => rateOf(value) > 0));
    top.signal("SIGINT");
    expect([await top.code, values(top.out)[0]]).toMatchObject([
      130,
      {
        data: [
          { stream: "orders", group: "audit", paused: true, lag: 7, appendedPerSecond: null },
          { stream: "orders", group: "billing", lag: 5, inflight: 1, members: [{ consumerId: "worker-1" }] },
        ],
      },
    ]);
  });
});

const rateOf = (value: unknown): number =>
  (value as { readonly data: readonly { readonly appendedPerSecond: number | null }[] }).data[0]?.appendedPerSecond ?? 0;
