import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "@rheo/cli";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fixturePath, RheoCommand } from "./rheo-command.ts";

const CONFIG = fixturePath("app.config.mjs");

/** Runs a command line that ends by itself. */
const run = async (...args: readonly string[]): Promise<{ code: number; out: string; err: string }> => {
  let out = "";
  let err = "";
  const io = { stdout: { write: (text: string) => (out += text) }, stderr: { write: (text: string) => (err += text) }, env: {} };
  return { code: await main(args, io), out, err };
};

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-usage-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("wrong usage exits with 2 and names the fix", () => {
  test.for<readonly [string, readonly string[], RegExp]>([
    ["no command", [], /Usage: rheo/],
    ["an unknown command", ["strat", CONFIG], /rheo: unknown command 'strat'\n\(Did you mean start\?\)/],
    ["an unknown option", ["start", CONFIG, "--procceses", "2"], /unknown option '--procceses'\n\(Did you mean --processes\?\)/],
    ["no config", ["start"], /missing required argument 'config'/],
    ["too many arguments", ["start", CONFIG, CONFIG], /too many arguments/],
    ["no number", ["start", CONFIG, "--processes", "many"], /Give a whole number from 1 to 256/],
    ["no duration", ["start", CONFIG, "--drain-timeout", "soon"], /Give a duration such as 500ms, 30s, 2m, 1h or 7d/],
    ["no such file", ["start", "nowhere.config.ts"], /There is no .*nowhere\.config\.ts\. Give the path of a module/],
    ["no store", ["start", CONFIG], /There is no store: put store: .* into the config, pass --store, or set RHEO_STORE/],
    ["a store of no kind", ["start", CONFIG, "--store", "mysql://x"], /A store URL starts with one of memory: sqlite:/],
    [
      "no place for the ready file",
      ["start", CONFIG, "--ready-file", "/nowhere/ready"],
      /ready file \/nowhere\/ready cannot be written/,
    ],
  ])("%s", async ([, args, message]) => {
    const { code, err, out } = await run(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
  });

  const config = async (text: string): Promise<string> => {
    const path = join(folder, `${Math.random()}.config.mjs`);
    await writeFile(path, text);
    return path;
  };

  test.for<readonly [string, string, RegExp]>([
    ["a config without a default export", "export const config = {};", /no default export. Write: export default defineConfig/],
    ["a config that is no object", "export default 3;", /is not an object/],
    ["a config without consumers", "export default { store: 'memory:' };", /consumers is a list of at least one consumer/],
    ["a config with a store that is none", "export default { store: 3, consumers: [] };", /store is a URL such as/],
    ["a config that opens the store by itself", "export default { rheo: {}, consumers: [] };", /Instead of rheo, give store/],
    ["a config that throws", "throw new Error('no password');", /cannot be loaded: no password/],
    ["a config that does not parse", "export default {", /cannot be loaded/],
    [
      "an option that nobody knows",
      "export default { store: 'memory:', consumers: [{ stream: 's', group: 'g', handler: 'h.mjs' }], treads: 2 };",
      /unknown option "treads"/,
    ],
    [
      "a handler that is not there",
      "export default { store: 'memory:', threads: 1, consumers: [{ stream: 's', group: 'g', handler: '/nowhere/h.mjs' }] };",
      /handler module file:\/\/\/nowhere\/h\.mjs cannot be loaded/,
    ],
  ])("%s", async ([, text, message]) => {
    const { code, err } = await run("start", await config(text));
    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
  });

  test("in several processes the config is refused once, by the first", async () => {
    const path = await config("export default { consumers: [] };");
    await using rheo = new RheoCommand(["start", path, "--processes", "4"]);
    expect(await rheo.code, rheo.stderr).toBe(2);
    expect(rheo.stderr.match(/consumers is a list of at least one consumer/g)?.length).toBe(1);
    expect(rheo.stdout.match(/started/g)?.length).toBe(1);
  });

  test("a store that belongs to one process is refused for several", async () => {
    await using rheo = new RheoCommand(["start", CONFIG, "--processes", "2", "--store", "memory:"]);
    expect(await rheo.code, rheo.stderr).toBe(2);
    expect(rheo.stderr).toMatch(/This store belongs to one process. Run it with --processes 1/);
  });

  test("TypeScript in a CommonJS package is told how to be named, where Node cannot run it", async () => {
    const path = join(folder, "typed.config.ts");
    await writeFile(join(folder, "package.json"), "{}");
    await copyFile(fixturePath("typed.config.ts"), path);
    await using rheo = new RheoCommand(["start", path, "--store", "memory:"]);
    expect(await rheo.code, rheo.stderr).toBe(2);
    expect(rheo.stderr).toMatch(/Name it \.mts|cannot be loaded/); // a Node that strips types then misses the package imported
  });
});

test("help goes to stdout and exits with 0", async () => {
  const { code, out, err } = await run("start", "--help");
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/Exit codes: 0 drained, 1 /);
});
