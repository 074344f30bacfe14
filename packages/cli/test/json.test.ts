/** The README says what --json prints: each example has the names and types of what comes out, and no command is left out. */
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { Running, run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

const README = await readFile(new URL("../README.md", import.meta.url), "utf8");

/** [command as the README writes it, its example] */
const examples = [...README.matchAll(/^`([^\n]+)`\n\n```json\n(.+)\n```$/gm)].flatMap(([, names = "", line = ""]) =>
  names.split("`, `").map((name) => [name, JSON.parse(line) as unknown] as const),
);

/** What is given beside the names of streams and groups. */
const MORE: Readonly<Record<string, string>> = {
  "append S": "5",
  "append S --dry-run": "5",
  "create-stream S": "--if-missing",
  "create-group S G": "--if-missing",
  "update-group S G": "--max-attempts 9",
  "replay S G": "--from-sequence 0 --yes",
  "redrive S G": "--all",
  "reset S G": "--yes",
  "trim S": "--keep-last 1 --yes",
  "purge-dead-letters S G": "--all --yes",
  "delete-group S G": "--yes",
  "delete-stream S": "--yes",
  "tail S": "--limit 1",
  "dead-letters S G": "",
  bench: "--events 100",
};

const argsOf = (name: string): string =>
  `${name} ${MORE[name] ?? ""} --json`
    .replace(/\bS G\b/, "orders billing")
    .replace(/\bS\b/, "orders")
    .replace(/\bID\b/, "p2")
    .replace(/\bNAME\b/, "quickstart")
    .replace(/\bPATH\b/, "payload.total")
    .replace(/ +/g, " ");

/** Whatever users put there. */
const OPEN: ReadonlySet<string> = new Set(["payload", "metadata", "filter", "details"]);

/** Names and types, through objects and the first item of lists. Null stands for any. */
const shape = (value: unknown, other: unknown): unknown => {
  if (value === null || other === null || other === undefined) return "any";
  if (Array.isArray(value))
    return Array.isArray(other) && value.length > 0 && other.length > 0 ? [shape(value[0], other[0])] : [];
  if (typeof value !== "object") return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, OPEN.has(name) ? "open" : shape(part, Reflect.get(other, name))]),
  );
};

const agrees = (printed: unknown, example: unknown): void => expect(shape(printed, example)).toEqual(shape(example, printed));

/** The first value that it prints. */
const printed = async (scene: Scene, name: string): Promise<unknown> => {
  if (name.startsWith("top")) return first(new Running("top --every 100ms --json", { store: scene.store }));
  if (name === "dashboard") return first(new Running("dashboard --port 0 --json", { store: scene.store }));
  const { code, out, err } = await run(argsOf(name), scene);
  expect([code, err]).toEqual([0, ""]);
  return values(out)[0];
};

const first = async (running: Running): Promise<unknown> => {
  await until(`it has printed: ${running.err}`, () => running.out.includes("\n"));
  running.signal("SIGINT");
  await running.code;
  return values(running.out)[0];
};

describe("the example of", () => {
  test.for(examples)("%s", async ([name, example]) => {
    await using scene = await openScene();
    await scene.rheo.createIndex("orders", "payload.total");
    agrees(await printed(scene, name), example);
  });

  test("every command is there, but for those that print lines of others or a script", async () => {
    const help = (await run("--help")).out;
    const names = [...help.matchAll(/^ {2}([a-z-]+) .*/gm)].map(([, name = ""]) => name);
    const told = new Set(examples.map(([name]) => name.split(" ")[0]));
    expect(names.filter((name) => !told.has(name))).toEqual(["start", "demo", "completion", "help"]);
  });
});

test("the examples of --watch and of a failure agree as well", async () => {
  await using scene = await openScene();
  const [watched, failed] = [...README.matchAll(/:\n\n```json\n(.+)\n```$/gm)].map(
    ([, line = ""]) => JSON.parse(line) as unknown,
  );
  agrees(await first(new Running("streams --watch --json", { store: scene.store })), watched);
  agrees(values((await run("groups x --json", scene)).err)[0], failed);
});
