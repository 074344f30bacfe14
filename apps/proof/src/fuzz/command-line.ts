/** The door "arguments": command lines, sound and spoilt, and what comes by stdin. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Io, main } from "@rheo/cli";
import fc from "fast-check";
import { FILTERED, GROUP, STREAM, stockShop } from "./damage/shop.ts";
import { type Door, doorOf } from "./door.ts";
import { judge } from "./judge.ts";

/** Commands that serve or measure until they are told to end are not among them. */
const COMMANDS = [
  "streams",
  "groups",
  "lag",
  "info",
  "explain",
  "dead-letters",
  "leases",
  "query",
  "tail",
  "top",
  "event",
  "lineage",
  "indexes",
  "append",
  "create-stream",
  "create-group",
  "update-group",
  "pause",
  "resume",
  "replay",
  "redrive",
  "reset",
  "trim",
  "purge-dead-letters",
  "delete-stream",
  "delete-group",
  "create-index",
  "drop-index",
  "migrate",
  "doctor",
  "completion",
  "help",
] as const;
const FLAGS = [
  "--json",
  "--store",
  "--limit",
  "--where",
  "--type",
  "--key",
  "--from",
  "--to",
  "--after",
  "--after-sequence",
  "--until-sequence",
  "--partition",
  "--partitions",
  "--follow",
  "--desc",
  "--yes",
  "--force",
  "--dry-run",
  "--all",
  "--id",
  "--ids",
  "--keep-last",
  "--before",
  "--before-sequence",
  "--start",
  "--max-attempts",
  "--lease-ms",
  "--retry",
  "--ordering",
  "--filter",
  "--no-color",
  "--interval",
  "--once",
  "--help",
  "--version",
  "--unknown",
  "-x",
  "--",
  "--limit=",
  "--file",
] as const;
const VALUES = [
  STREAM,
  GROUP,
  FILTERED,
  "e0-1",
  "0",
  "-1",
  "1e9",
  "99999999999999999999",
  "NaN",
  "",
  " ",
  "{",
  "[]",
  "null",
  '{"payload.number":{"gt":1}}',
  "payload.number>3",
  "payload.number=",
  "=",
  "2026-01-01",
  "yesterday",
  "1h",
  "-5m",
  "__proto__",
  "constructor",
  "../x",
  "é",
  "a".repeat(2_000),
  "\u001b[2J",
  "\u0000",
  "\ud800",
  "%s",
  "earliest",
  "latest",
  "bash",
  "fish",
  "nowhere",
  "key",
  "partition",
  "true",
  "@/no/such/file",
  "-",
] as const;

const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...FLAGS) },
  { weight: 5, arbitrary: fc.constantFrom<string>(...VALUES) },
  { weight: 1, arbitrary: fc.string({ maxLength: 6, unit: "binary" }) },
);
const line = fc
  .tuple(
    fc.constantFrom<string>(...COMMANDS),
    fc.option(fc.constant(STREAM), { freq: 4 }),
    fc.option(fc.constant(GROUP)),
    fc.array(word, { maxLength: 5 }),
  )
  .map(([command, stream, group, rest]) => [
    command,
    ...(stream === null ? [] : [stream]),
    ...(group === null ? [] : [group]),
    ...rest,
  ]);
const stdin = fc.array(
  fc.constantFrom(
    '{"payload":1}\n',
    "{",
    "\n",
    "null\n",
    '{"payload":1,"id":""}\n',
    "\u0000",
    "\ud800\n",
    '{"payload":{"a":1},"key":5}\n',
    "x".repeat(3_000),
  ),
  { maxLength: 4 },
);

/** A command that goes on is told to end after this, in ms. */
const ENOUGH_MS = 150;
/** Every code that any command's help lists. */
const CODES: ReadonlySet<unknown> = new Set([0, 1, 2, 3, 4, 130, 143]);

export const commandLines: Door = doorOf(
  "arguments",
  fc.record({ args: line, stdin }),
  async ({ args, stdin: given }, counts) => {
    const { folder, url } = await store();
    void folder;
    const told = { out: "", err: "" };
    const verdict = await judge(() => run(args, given, url, told));
    counts.add(verdict);
    const at = `rheo ${args.map((arg) => JSON.stringify(arg.slice(0, 60))).join(" ")}`;
    if (verdict.kind !== "value") return [`${at}: ${verdict.kind === "fault" ? verdict.text : verdict.kind}`];
    const faults = CODES.has(verdict.value) ? [] : [`${at}: exit code ${String(verdict.value)}`];
    const isInternal = told.err.includes("(internal)") || told.err.includes('"code":"internal"') || /^ {4}at /m.test(told.err);
    return isInternal ? [...faults, `${at}: ${told.err.slice(0, 900)}`] : faults;
  },
);

const run = async (
  args: readonly string[],
  given: readonly string[],
  url: string,
  told: { out: string; err: string },
): Promise<number> => {
  const listeners = new Set<() => void>();
  const io: Io = {
    stdout: { write: (text) => (told.out = `${told.out}${text}`.slice(-10_000)) },
    stderr: { write: (text) => (told.err = `${told.err}${text}`.slice(-10_000)) },
    stdin: {
      async *[Symbol.asyncIterator]() {
        for (const text of given) yield await Promise.resolve(text);
      },
    },
    env: { RHEO_STORE: url, NO_COLOR: "1" },
    on: (_signal, listener) => listeners.add(listener),
    off: (_signal, listener) => listeners.delete(listener),
  };
  const enough = setInterval(() => {
    for (const listener of [...listeners]) listener();
  }, ENOUGH_MS);
  try {
    return await main(args, io);
  } finally {
    clearInterval(enough);
  }
};

let made: Promise<{ readonly folder: string; readonly url: string }> | null = null;

/** One for the whole process, removed when it ends: what command lines do to it is what it is for. */
const store = (): Promise<{ readonly folder: string; readonly url: string }> => {
  made ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), "rheo-fuzz-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const url = `sqlite:${join(folder, "shop.db")}`;
    await stockShop(url);
    return { folder, url };
  })();
  return made;
};
