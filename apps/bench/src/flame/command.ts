/** `npm run bench -- flame`: flame graphs of what is done most, into the docs. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import type { Profiler } from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Execution } from "@rheo/runtime";
import { endWith } from "../end-with.ts";
import { Hosts } from "../hosts.ts";
import { type Store, type System, systemsOf, urlOf } from "../systems.ts";
import { drawFlame } from "./draw.ts";
import { type Profile, readProfile } from "./profile.ts";
import { FOLDER } from "./profiling.ts";

interface Scene {
  readonly title: string;
  readonly store: Store;
  readonly part: "append" | Execution;
  readonly events: number;
}

export const SCENES: Readonly<Record<string, Scene>> = {
  "append-postgres": {
    title: "Append to PostgreSQL, 1,000 events per call from 4 callers",
    store: "postgres",
    part: "append",
    events: 150_000,
  },
  "drain-postgres": { title: "Drain inline from PostgreSQL", store: "postgres", part: "inline", events: 150_000 },
  "drain-redis": { title: "Drain inline from Redis", store: "redis", part: "inline", events: 150_000 },
  "drain-sqlite": { title: "Drain inline from SQLite", store: "sqlite", part: "inline", events: 150_000 },
  "drain-memory": { title: "Drain inline from memory", store: "memory", part: "inline", events: 500_000 },
  "drain-thread": { title: "A worker thread of two that drain from memory", store: "memory", part: "worker", events: 300_000 },
};

const MODULE = fileURLToPath(new URL("../processes/profiled.js", import.meta.url));
const PICTURES = fileURLToPath(new URL("../../../../docs/pictures/profiles", import.meta.url));

/** Of several threads, that with the most to tell. */
const profileOf = async (system: System, { part, events }: Scene): Promise<Profile> => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-flame-"));
  const { rheo, place, close } = await system.open();
  await rheo.close();
  try {
    const child = fork(MODULE, [urlOf(place), part, `${events}`], { env: { ...process.env, [FOLDER]: folder } });
    const [status]: unknown[] = await once(child, "exit");
    if (status !== 0) throw new Error(`The process that was to be looked at ended with ${String(status)}.`);
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    const profiles = texts.map((text) => readProfile(JSON.parse(text) as Profiler.Profile)); // as the profiler wrote it
    const [first] = profiles.toSorted((a, b) => b.root.totalUs - a.root.totalUs);
    if (first === undefined) throw new Error("The process left no profile.");
    return first;
  } finally {
    await close();
    await rm(folder, { recursive: true, force: true });
  }
};

export const drawFlames = async (names: readonly string[]): Promise<void> => {
  const wanted = names.length > 0 ? names : Object.keys(SCENES);
  const stores = wanted.flatMap((name) => SCENES[name]?.store ?? []);
  const hosts = new Hosts(stores, { postgres: null, redis: null, mongo: null, nats: null });
  endWith(() => hosts.stop(), null);
  await mkdir(PICTURES, { recursive: true });
  try {
    for (const name of wanted) {
      const scene = SCENES[name];
      if (scene === undefined) throw new RangeError(`known flame graphs: ${Object.keys(SCENES).join(", ")}`);
      const [system] = await systemsOf(scene.store, hosts);
      if (system === undefined) throw new Error(`${scene.store} cannot be measured here.`);
      await writeFile(
        join(PICTURES, `${name}.svg`),
        drawFlame(`${scene.title}, Node ${process.version}`, await profileOf(system, scene)),
      );
      console.log(`docs/pictures/profiles/${name}.svg`);
    }
  } finally {
    await hosts.stop();
  }
};
