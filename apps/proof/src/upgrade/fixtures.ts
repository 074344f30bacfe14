/**
 * Fixtures: what each released version left in each store, and how that version described it. Files are never changed once their version is
 * released: `fixtures/<version>/<store>.gz` and `<store>.json`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { openFixturePlace } from "./places.ts";
import { describeStore, fillScene, LEFT_AT } from "./scene.ts";
import type { FixtureStore } from "./stores.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/", import.meta.url));

export interface Fixture {
  readonly version: string;
  readonly store: string;
  readonly content: Buffer;
  /** As the version that made it described it. */
  readonly described: unknown;
}

export const fixturesOf = (store: string): Fixture[] =>
  readdirSync(FIXTURES)
    .filter((version) => existsSync(join(FIXTURES, version, `${store}.gz`)))
    .sort()
    .map((version) => ({
      version,
      store,
      content: gunzipSync(readFileSync(join(FIXTURES, version, `${store}.gz`))),
      described: JSON.parse(readFileSync(join(FIXTURES, version, `${store}.json`), "utf8")),
    }));

/** Makes the fixture of this version, in place of one that is there. */
export const writeFixture = async (store: FixtureStore, version: string): Promise<void> => {
  const { place, close } = await openFixturePlace(store.name);
  try {
    await fillScene(store.open(place));
    const described = await describeStore(store.open(place), LEFT_AT);
    mkdirSync(join(FIXTURES, version), { recursive: true });
    writeFileSync(join(FIXTURES, version, `${store.name}.gz`), gzipSync(await store.save(place), { level: 9 }));
    writeFileSync(join(FIXTURES, version, `${store.name}.json`), `${JSON.stringify(described, null, 1)}\n`);
  } finally {
    await close();
  }
};
