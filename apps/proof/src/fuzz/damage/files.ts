/** The door "files": SQLite files whose bytes were changed anywhere. Visited by a process of its own, as a driver may end it. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "@rheo/testing/internal";
import { Counts } from "../counts.ts";
import type { Door } from "../door.ts";
import { stockShop } from "./shop.ts";
import { FILE_DAMAGES } from "./sqlite.ts";

/** A visit takes a few seconds where everything has to wait; longer is a hang, in ms of real time. */
const VISIT_MS = 60_000;
/** libsql ends the process when a text is not UTF-8; node:sqlite does not. */
const PANIC = "libsql";

export const files: Door = {
  name: "files",
  knock: async (seed, cases) => {
    const folder = mkdtempSync(join(tmpdir(), "rheo-files-"));
    const counts = new Counts();
    const faults: string[] = [];
    const random = seeded(seed);
    try {
      const base = join(folder, "base.db");
      await stockShop(`sqlite:${base}`);
      for (let index = 0; index < cases; index++) {
        const file = join(folder, `${index}.db`);
        copyFileSync(base, file);
        const damage = random.pick(FILE_DAMAGES);
        damage.apply(file, random);
        const found = await visitApart(`sqlite:${file}`);
        counts.add(
          found === PANIC ? { kind: "refused", code: "driver aborts", message: PANIC } : { kind: "value", value: found },
        );
        if (found !== null && found !== PANIC) faults.push(`seed ${seed}, file ${index}, ${damage.name}: ${found}`);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return { counts, faults };
  },
};

/** Null when nothing is wrong. */
const visitApart = async (url: string): Promise<string | null> => {
  const child = fork(new URL("./visitor.js", import.meta.url), [url], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    timeout: VISIT_MS,
  });
  let told: readonly string[] | null = null;
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => (log = `${log}${chunk.toString()}`.slice(-4_000)));
  child.on("message", (message) => {
    told = message as readonly string[]; // as the visitor sends them
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (/panicked at .*libsql/.test(log)) return PANIC;
  if (told === null) return `the process ended with ${code ?? signal}: ${log}`;
  return (told as readonly string[]).length === 0 ? null : (told as readonly string[]).join("\n");
};
