/** What released versions left in a store is opened, understood and worked to its end by this one. */
import { describeStore, drainAll, fixtureStores, fixturesOf, LEFT_AT, openFixturePlace } from "@rheo/proof";
import { findRedis } from "@rheo/testing/servers";
import { describe, expect, test } from "vitest";

describe.each(fixtureStores.map((store) => [store.name, store] as const))("%s", (name, store) => {
  const isThere = name !== "redis" || findRedis() !== null || process.env.CI === "true";
  if (!isThere) console.log("no redis-server: fixtures of redis were not opened");

  test("has a fixture", () => {
    expect(fixturesOf(name).length).toBeGreaterThan(0);
  });

  test.runIf(isThere).each(fixturesOf(name).map((fixture) => [fixture.version, fixture] as const))(
    "of version %s is what that version said, and its groups can be worked to their end",
    async (_version, { content, described }) => {
      const { place, close } = await openFixturePlace(name);
      try {
        await store.restore(place, content);
        expect(await describeStore(store.open(place), LEFT_AT)).toEqual(described);
        const given = await drainAll(store.open(place));
        expect(Math.max(...Object.values(given))).toBe(1);
        expect(Object.keys(given).length).toBeGreaterThan(50);
      } finally {
        await close();
      }
    },
  );
});
