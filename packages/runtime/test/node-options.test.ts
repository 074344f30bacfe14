import { expect, test } from "vitest";
import { nodeOptions } from "../src/process/node-options.ts";

test("a child has the options of its parent, without its inspector, and room for young objects", () => {
  expect(nodeOptions(["--import", "tsx", "--inspect-brk=9229"], undefined)).toEqual([
    "--import",
    "tsx",
    "--max-semi-space-size=32",
  ]);
});

test("a size of the young space that the parent was given stands", () => {
  expect(nodeOptions(["--max-semi-space-size=8"], undefined)).toEqual(["--max-semi-space-size=8"]);
});

test("a size of the young space in NODE_OPTIONS stands", () => {
  expect(nodeOptions([], "--no-warnings --max-semi-space-size=64")).toEqual([]);
});
