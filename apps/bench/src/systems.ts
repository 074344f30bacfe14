/** The stores that are measured: each opens empty in a folder of its own and leaves nothing behind. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { sqlite } from "@rheo/sqlite";

export interface Opened {
  readonly rheo: Rheo;
  /** The file of the store, where it has one. */
  readonly file: string | null;
  readonly close: () => Promise<void>;
}

export interface System {
  readonly name: string;
  /** What decides the result, as it appears in reports. */
  readonly settings: string;
  readonly open: () => Promise<Opened>;
}

const onDisk = async (synchronous: "normal" | "full"): Promise<Opened> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-bench-"));
  const file = join(folder, "bench.db");
  const rheo = await Rheo.open({ backend: sqlite({ file, synchronous }) });
  const close = async (): Promise<void> => {
    await rheo.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { rheo, file, close };
};

const inMemory = async (): Promise<Opened> => {
  const rheo = await Rheo.open({ backend: memory() });
  return { rheo, file: null, close: () => rheo.close() };
};

const SYSTEMS: Readonly<Record<string, readonly System[]>> = {
  memory: [{ name: "memory", settings: "", open: inMemory }],
  sqlite: [
    { name: "sqlite", settings: "synchronous=normal", open: () => onDisk("normal") },
    { name: "sqlite", settings: "synchronous=full", open: () => onDisk("full") },
  ],
};

export const KNOWN_STORES: readonly string[] = Object.keys(SYSTEMS);

/** The systems of the stores named; empty for a name that is not known. */
export const systemsOf = (store: string): readonly System[] => (Object.hasOwn(SYSTEMS, store) ? (SYSTEMS[store] ?? []) : []);
