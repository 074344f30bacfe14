/** Which test proves something: its file, its title as it stands there, and where it runs. */
import { EVERY_STORE, type Place } from "./corpus-case.ts";

export interface TestReference {
  /** From the root of the project. */
  readonly file: string;
  /** Of the test, or of the group of tests that it names; as in the source, with "…" for each `${placeholder}`. */
  readonly title: string;
  readonly on: readonly Place[];
}

type Of = (name: string, title: string, on?: readonly Place[]) => TestReference;

const inFolder =
  (folder: string, usual: readonly Place[]): Of =>
  (name, title, on = usual) => ({ file: `${folder}/test/${name}.test.ts`, title, on });

export const sqlite: Of = inFolder("packages/backends/sqlite", ["sqlite"]);
export const lmdb: Of = inFolder("packages/backends/lmdb", ["lmdb"]);
export const postgres: Of = inFolder("packages/backends/postgres", ["postgres"]);
export const redis: Of = inFolder("packages/backends/redis", ["redis"]);
export const mongo: Of = inFolder("packages/backends/mongo", ["mongo"]);
export const core: Of = inFolder("packages/core", ["memory"]);
export const runtime: Of = inFolder("packages/runtime", ["runtime"]);
export const pipeline: Of = inFolder("packages/pipeline", ["pipeline"]);
export const telemetry: Of = inFolder("packages/telemetry", ["telemetry"]);
export const cli: Of = inFolder("packages/cli", ["cli"]);
export const dashboard: Of = inFolder("apps/dashboard", ["dashboard"]);
export const proof: Of = inFolder("apps/proof", []);
export const demo: Of = inFolder("apps/demo", []);
export const playground: Of = inFolder("apps/playground", []);

/** Random crashes of members, on every store. */
export const crashes = (title: string): TestReference => ({
  file: "packages/testing/src/crashes/describe-crashes.ts",
  title,
  on: EVERY_STORE,
});

/** Random commands beside a model, on every store. */
export const model = (title: string): TestReference => ({
  file: "packages/testing/src/model/describe-model.ts",
  title,
  on: EVERY_STORE,
});
