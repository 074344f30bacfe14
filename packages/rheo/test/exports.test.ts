import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as core from "@rheo/core";
import * as memory from "@rheo/memory";
import * as runtime from "@rheo/runtime";
import * as runtimeHandler from "@rheo/runtime/handler";
import * as rheo from "rheo";
import * as handler from "rheo/handler";
import { expect, test } from "vitest";

test("what core, memory and runtime export is here under the same name, and is the same", () => {
  const parts: Readonly<Record<string, unknown>> = { ...core, ...memory, ...runtime };
  expect(Object.keys(rheo).sort()).toEqual(Object.keys(parts).sort());
  for (const [name, value] of Object.entries(rheo)) expect(value, name).toBe(parts[name]);
});

test("rheo/handler is @rheo/runtime/handler", () => {
  expect({ ...handler }).toEqual({ ...runtimeHandler });
});

test("the command is no file that is built, so that `npm ci` in a clone links it", () => {
  const require = createRequire(import.meta.url);
  const path: string = require("rheo/package.json").bin.rheo;
  expect(path).not.toMatch(/dist/);
  expect(() => accessSync(join(dirname(require.resolve("rheo/package.json")), path), constants.X_OK)).not.toThrow();
});
