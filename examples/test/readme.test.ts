/** What the READMEs name is there, and the packages of an example are those that are published with it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Package {
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const packageAt = (folder: string): Package & { readonly version?: string } =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const examples = readdirSync(ROOT).filter((name) => name !== "test" && existsSync(join(ROOT, name, "package.json")));

const byName = (one: string, other: string): number => one.localeCompare(other);

test("the list of examples has each of them", () => {
  const list = readFileSync(join(ROOT, "README.md"), "utf8");
  expect([...list.matchAll(/^\| \[([\w-]+)\]\(\1\)/gm)].map(([, name = ""]) => name).toSorted(byName)).toEqual(
    examples.toSorted(byName),
  );
});

describe.each(examples)("%s", (example) => {
  const folder = join(ROOT, example);
  const readme = readFileSync(join(folder, "README.md"), "utf8");

  test("what its README links to is there", () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path = ""]) => path);
    expect(links.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  test("what its README runs by npm is among its scripts", () => {
    const { scripts = {}, private: isPrivate } = packageAt(folder);
    const named = [...readme.matchAll(/npm (start|run (\w+))/g)].map(([, start = "", script]) => script ?? start);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    expect(isPrivate).toBe(true);
  });

  test("it asks for the packages of Rheo as they are published with it, and for all others exactly", () => {
    const { dependencies = {}, devDependencies = {} } = packageAt(folder);
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      if (name === "rheo" || name.startsWith("@rheo/")) expect([name, version]).toEqual([name, versionOf(name)]);
      else expect(version).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
    }
  });
});

const versionOf = (name: string): string | undefined => packageAt(join(ROOT, "../node_modules", name)).version;
