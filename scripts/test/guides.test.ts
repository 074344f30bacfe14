/** What the guides list is all there is, and what they name is there. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineStream, Rheo, RheoError, type RheoErrorCode } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { memory } from "@rheo/memory";
import { mongo } from "@rheo/mongo";
import { consume, pipeline } from "@rheo/pipeline";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { type ConsumerOptions, defineConsumer, defineRetention, supervise, superviseProcesses } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { sqlite } from "@rheo/sqlite";
import { contractCases } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const docs = join(root, "docs");
const read = (page: string): Promise<string> => readFile(join(docs, page), "utf8");

/** The cells of every row of a page's tables, without the heads. */
const rowsOf = (page: string): string[][] =>
  page
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("|---"))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );

const quoted = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

describe("the page on configuration", () => {
  const NONSENSE = { nonsense: true };
  // what is wrong with these options is told, whatever their types say
  const consumer = (more: object): unknown =>
    defineConsumer({ stream: "s", group: "g", handler: handler(() => undefined), ...more } as ConsumerOptions);
  const anything = <Options>(options: object): Options => options as Options;

  /** By what it is an option of: calls that are refused, and say which options they know, and what these are a part of. */
  const PROBES: Readonly<Record<string, readonly (readonly [within: string, call: (rheo: Rheo) => unknown])[]>> = {
    "Rheo.open": [["", () => Rheo.open(anything(NONSENSE))]],
    createStream: [["", (rheo) => rheo.createStream("other", NONSENSE)]],
    defineStream: [["", () => defineStream(anything(NONSENSE))]],
    defineRetention: [["", () => defineRetention(anything(NONSENSE))]],
    sqlite: [["", () => sqlite(anything(NONSENSE))]],
    lmdb: [["", () => lmdb(anything(NONSENSE))]],
    postgres: [["", () => postgres(anything(NONSENSE))]],
    mongo: [["", () => mongo(anything(NONSENSE))]],
    redis: [
      ...["url", "nodes", "sentinels", "client"].map(
        (way) => ["", () => redis(anything({ [way]: "redis://localhost", ...NONSENSE }))] as const,
      ),
      ["waitReplicas.", () => redis({ url: "redis://localhost", waitReplicas: anything(NONSENSE) })],
    ],
    createGroup: [
      ["", (rheo) => rheo.createGroup("s", "other", NONSENSE)],
      ["retry.", (rheo) => rheo.createGroup("s", "other", { retry: NONSENSE })],
    ],
    defineConsumer: [
      ["", () => consumer(NONSENSE)],
      ...["breaker", "rateLimit", "batch", "createStream"].map(
        (part) => [`${part}.`, () => consumer({ [part]: NONSENSE })] as const,
      ),
    ],
    supervise: [
      ["", () => supervise(anything(NONSENSE))],
      ["restart.", () => supervise(anything({ restart: NONSENSE }))],
      ["resourceLimits.", (rheo) => supervise(anything({ rheo, consumers: [consumer({})], resourceLimits: NONSENSE }))],
    ],
    superviseProcesses: [
      ["", () => superviseProcesses(anything(NONSENSE))],
      ["restart.", () => superviseProcesses(anything({ restart: NONSENSE }))],
    ],
    fetch: [["", (rheo) => rheo.fetch("s", "g", NONSENSE)]],
    consume: [["", (rheo) => consume(rheo, "s", "g", NONSENSE)]],
    pipeline: [
      ["", () => pipeline(anything(NONSENSE))],
      ["processors.", (rheo) => pipeline(anything({ rheo, processors: NONSENSE }))],
      ["batchers.*.", (rheo) => pipeline(pipelineWith(rheo, { batchers: { one: NONSENSE } }))],
      ["rateLimit.", (rheo) => pipeline(pipelineWith(rheo, { rateLimit: NONSENSE }))],
    ],
  };
  const pipelineWith = (rheo: Rheo, more: object): Parameters<typeof pipeline>[0] =>
    anything({ rheo, stream: "s", group: "g", processors: { handle: () => undefined }, ...more });

  const refusal = async (call: (rheo: Rheo) => unknown, rheo: Rheo): Promise<string> => {
    try {
      await call(rheo);
    } catch (error) {
      if (RheoError.is(error, "invalid_option")) return error.message;
      throw error;
    }
    throw new Error("was not refused");
  };

  const known = async (owner: string): Promise<string[]> => {
    const rheo = await Rheo.open({ backend: memory() });
    await rheo.createStream("s");
    const names = new Set<string>();
    for (const [within, call] of PROBES[owner] ?? []) {
      const message = await refusal(call, rheo);
      const [, list = ""] = /Known: (.*)\.$/s.exec(message) ?? [];
      expect(list, message).not.toBe("");
      for (const name of list.split(", ")) names.add(within + name);
    }
    await rheo.close();
    return [...names].sort();
  };

  const listed = async (owner: string): Promise<string[]> => {
    const rows = rowsOf(await read("configuration.md")).filter(([of = ""]) => quoted(of).includes(owner));
    return rows.flatMap(([, names = ""]) => quoted(names)).sort();
  };

  test.for(Object.keys(PROBES))("lists every option of %s, and no other", async (owner) => {
    expect(await listed(owner)).toEqual(await known(owner));
  });

  test("lists options of nothing that is not held to the code here", async () => {
    const owners = new Set(
      rowsOf(await read("configuration.md")).flatMap(([of = "", ...rest]) => (rest.length === 4 ? quoted(of) : [])),
    );
    expect([...owners].sort()).toEqual([...Object.keys(PROBES), "defineConfig"].sort());
  });
});

test("the page on troubles has each code of an error", async () => {
  const codes: Record<RheoErrorCode, true> = {
    stream_not_found: true,
    group_not_found: true,
    already_exists: true,
    stale_lease: true,
    id_conflict: true,
    sequence_conflict: true,
    invalid_name: true,
    invalid_payload: true,
    invalid_option: true,
    invalid_partition: true,
    invalid_query: true,
    event_too_large: true,
    cursor_not_found: true,
    confirm_required: true,
    nothing_to_replay: true,
    unsupported: true,
    unavailable: true,
    outcome_unknown: true,
    schema_outdated: true,
    closed: true,
    aborted: true,
    draining: true,
  };
  const explained = new Set(rowsOf(await read("troubleshooting.md")).flatMap(([first = ""]) => quoted(first)));
  expect(Object.keys(codes).filter((code) => !explained.has(code))).toEqual([]);
});

test("each promise of the page on guarantees names a test that is there", async () => {
  const threads = await readFile(join(root, "packages/runtime/test/sessions.test.ts"), "utf8");
  const missing = rowsOf(await read("guarantees.md"))
    .flatMap(([, , shown = ""]) => [...shown.matchAll(/^\*(.+)\*$/g)].map(([, fact = ""]) => fact))
    .filter((fact) => !contractCases.some(({ title }) => title.includes(fact)) && !threads.includes(fact));
  expect(missing).toEqual([]);
});

test("the page on production names each alert once, and none that is not there", async () => {
  const rules = await readFile(join(root, "packages/telemetry/alerts/rheo.yml"), "utf8");
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name).sort();
  const [, section = ""] = (await read("production.md")).split("\n## Alerts\n");
  const [table = ""] = section.split("\n## ");
  expect(quoted(table).filter((name) => /^Rheo[A-Z]/.test(name)).sort()).toEqual(alerts);
});
