import type { Profiler } from "node:inspector";
import { expect, test } from "vitest";
import { drawFlame } from "../src/flame/draw.ts";
import { readProfile } from "../src/flame/profile.ts";

const node = (id: number, functionName: string, url: string, children: number[] = []): Profiler.ProfileNode => ({
  id,
  callFrame: { functionName, url, scriptId: "0", lineNumber: 0, columnNumber: 0 },
  children,
});

const PROFILE: Profiler.Profile = {
  startTime: 0,
  endTime: 10_000,
  nodes: [
    node(1, "(root)", "", [2, 3, 6]),
    node(2, "(idle)", ""),
    node(3, "drain", "file:///home/someone/rheo/packages/runtime/dist/a.js", [4, 5]),
    node(4, "parse", "file:///home/someone/rheo/packages/core/dist/b.js"),
    node(5, "</title><script>", "file:///x/node_modules/evil/c.js"),
    node(6, "post", "node:inspector/promises"),
  ],
  samples: [2, 4, 4, 3, 5, 6],
  timeDeltas: [1_000, 2_000, 2_000, 500, 500, 4_000],
};

test("a profile is a tree of calls without idle time and without the profiler's own", () => {
  const { root, idle } = readProfile(PROFILE);
  expect(idle).toBeCloseTo(1_000 / 6_000);
  expect(root.totalUs).toBe(5_000);
  const [drain] = [...root.children.values()];
  expect([drain?.name, drain?.totalUs, root.children.size]).toEqual(["drain", 5_000, 1]);
  expect([...(drain?.children.values() ?? [])].map(({ name, totalUs }) => [name, totalUs])).toEqual([
    ["parse", 4_000],
    ["</title><script>", 500],
  ]);
});

test("a flame graph says whose time it is, escapes names, and tells no path of the machine", () => {
  const svg = drawFlame("Drain <b>", readProfile(PROFILE));
  expect(svg).toContain("parse (core) 80.0 % packages/core/dist/b.js");
  expect(svg).toContain("&lt;/title&gt;&lt;script&gt; (other packages) 10.0 % node_modules/evil/c.js");
  expect(svg).not.toMatch(/<script|someone|<b>/);
});
