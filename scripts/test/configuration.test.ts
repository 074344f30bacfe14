/** The page on configuration lists every option there is: each parser is asked, by an option that it does not know, which it knows. */
import { defineStream, Rheo, RheoError } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { memory } from "@rheo/memory";
import { mongo } from "@rheo/mongo";
import { consume, pipeline } from "@rheo/pipeline";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { defineConfig, defineConsumer, defineRetention, supervise, superviseProcesses } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { quoted, readGuide, rowsOf } from "./tables.ts";

describe("the page on configuration", () => {
  const OPTION = { nonsense: true };
  const anything = (options: object): never => options as never; // it is to be refused, whatever its type
  const NONSENSE = anything(OPTION);
  const consumer = (more: object): unknown =>
    defineConsumer(anything({ stream: "s", group: "g", handler: handler(() => undefined), ...more }));
  const config = (more: object): unknown => defineConfig(anything({ consumers: [consumer({})], ...more }));
  const pipe = (rheo: Rheo, more: object): unknown =>
    pipeline(anything({ rheo, stream: "s", group: "g", processors: { handle: () => undefined }, ...more }));

  /** By what it is an option of: calls that are refused, and say which options they know, and what these are a part of. */
  const PROBES: Readonly<Record<string, readonly (readonly [within: string, call: (rheo: Rheo) => unknown])[]>> = {
    "Rheo.open": [["", () => Rheo.open(NONSENSE)]],
    createStream: [["", (rheo) => rheo.createStream("other", NONSENSE)]],
    defineStream: [["", () => defineStream(NONSENSE)]],
    defineRetention: [["", () => defineRetention(NONSENSE)]],
    sqlite: [["", () => sqlite(NONSENSE)]],
    lmdb: [["", () => lmdb(NONSENSE)]],
    postgres: [["", () => postgres(NONSENSE)]],
    mongo: [["", () => mongo(NONSENSE)]],
    redis: [
      ...["url", "nodes", "sentinels", "client"].map(
        (way) => ["", () => redis(anything({ [way]: "redis://localhost", ...OPTION }))] as const,
      ),
      ["waitReplicas.", () => redis({ url: "redis://localhost", waitReplicas: NONSENSE })],
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
      ["", () => supervise(NONSENSE)],
      ...["restart", "resourceLimits"].map(
        (part) =>
          [`${part}.`, (rheo: Rheo) => supervise(anything({ rheo, consumers: [consumer({})], [part]: NONSENSE }))] as const,
      ),
    ],
    superviseProcesses: [
      ["", () => superviseProcesses(NONSENSE)],
      ["restart.", () => superviseProcesses(anything({ restart: NONSENSE }))],
    ],
    fetch: [["", (rheo) => rheo.fetch("s", "g", NONSENSE)]],
    consume: [["", (rheo) => consume(rheo, "s", "g", NONSENSE)]],
    pipeline: [
      ["", () => pipeline(NONSENSE)],
      ["processors.", (rheo) => pipe(rheo, { processors: NONSENSE })],
      ["batchers.*.", (rheo) => pipe(rheo, { batchers: { one: NONSENSE } })],
      ["rateLimit.", (rheo) => pipe(rheo, { rateLimit: NONSENSE })],
    ],
  };

  const refusal = async (call: (rheo: Rheo) => unknown, rheo: Rheo): Promise<string> => {
    try {
      await call(rheo);
    } catch (error) {
      if (RheoError.is(error, "invalid_option")) return error.message;
      throw error;
    }
    throw new Error("was not refused");
  };

  const namesIn = async (call: (rheo: Rheo) => unknown, rheo: Rheo): Promise<string[]> => {
    const message = await refusal(call, rheo);
    const [, list = ""] = /Known: (.*)\.$/s.exec(message) ?? [];
    expect(list, message).not.toBe("");
    return list.split(", ");
  };

  const known = async (owner: string): Promise<string[]> => {
    const rheo = await Rheo.open({ backend: memory() });
    await rheo.createStream("s");
    const names = new Set<string>();
    for (const [within, call] of PROBES[owner] ?? []) {
      for (const name of await namesIn(call, rheo)) names.add(within + name);
    }
    await rheo.close();
    return [...names].sort();
  };

  const listed = async (owner: string): Promise<string[]> => {
    const rows = rowsOf(await readGuide("configuration.md")).filter(([of = ""]) => quoted(of).includes(owner));
    return rows.flatMap(([, names = ""]) => quoted(names)).sort();
  };

  test.for(Object.keys(PROBES))("lists every option of %s, and no other", async (owner) => {
    expect(await listed(owner)).toEqual(await known(owner));
  });

  test("lists what a config takes beyond the options of supervise", async () => {
    const rheo = await Rheo.open({ backend: memory() });
    const shared = await known("supervise");
    const own = (await namesIn(() => config(OPTION), rheo)).filter((name) => !shared.includes(name));
    await rheo.close();
    expect(await listed("defineConfig")).toEqual(own.sort());
  });

  test("lists options of nothing that is not held to the code here", async () => {
    const owners = new Set(
      rowsOf(await readGuide("configuration.md")).flatMap(([of = "", ...rest]) => (rest.length === 4 ? quoted(of) : [])),
    );
    expect([...owners].sort()).toEqual([...Object.keys(PROBES), "defineConfig"].sort());
  });
});
