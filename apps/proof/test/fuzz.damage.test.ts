/** Damaged stores: one bad record never holds up its neighbours, nothing is lost in silence, and no process ends. */
import { findRedis } from "@rheo/testing/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { faultsOf } from "../dist/fuzz/damage/damage.js";
import { postgresSite, redisSite, type Site, sqliteSite } from "../dist/fuzz/damage/doors.js";
import { files } from "../dist/fuzz/damage/files.js";
import { POSTGRES_DAMAGES } from "../dist/fuzz/damage/postgres.js";
import { REDIS_DAMAGES } from "../dist/fuzz/damage/redis.js";
import { SQLITE_DAMAGES } from "../dist/fuzz/damage/sqlite.js";

const damaged = <Target>(
  name: string,
  damages: readonly {
    readonly name: string;
    readonly hit: readonly string[] | null;
    readonly apply: (target: Target) => unknown;
  }[],
  open: () => Promise<Site<Target>>,
): void => {
  describe(name, () => {
    let site: Site<Target>;
    beforeAll(async () => {
      site = await open();
    });
    afterAll(() => site[Symbol.asyncDispose]());
    test.each(damages)("$name", async (damage) => {
      expect(await site.inspect(damage)).toEqual([]);
    });
  });
};

/** One event is hit: what is more takes long where nobody serves it, and is left to the command. */
const ofOneEvent = ({ hit }: { readonly hit: readonly string[] | null }): boolean => hit !== null;

/** What would look as if nothing were wrong, or never end, unless it is looked for. */
const DECEPTIVE = [
  "partition missing",
  "cursor too high",
  "cursor missing",
  "lease endless",
  "rheo:{orders/0}:g:billing:leases gone",
  "rheo:{orders/0}:g:billing:dead gone",
  "rheo:{orders/0}:g:billing:dead of a foreign type",
];
const isDeceptive = ({ name }: { readonly name: string }): boolean => DECEPTIVE.includes(name);

damaged("sqlite", SQLITE_DAMAGES, sqliteSite);
damaged(
  "postgres",
  POSTGRES_DAMAGES.filter((damage) => ofOneEvent(damage) || isDeceptive(damage)),
  postgresSite,
);
if (findRedis() !== null)
  damaged(
    "redis",
    REDIS_DAMAGES.filter((damage) => ofOneEvent(damage) || isDeceptive(damage)),
    redisSite,
  );

test("files: bytes changed anywhere end no process but by the driver's own hand", async () => {
  expect((await files.knock(1, 3)).faults).toEqual([]);
});

describe("what the checks find", () => {
  const GROUP = { handled: new Set<string>(), dead: new Map<string, string>(), lag: 0, skipped: 0 };
  const visit = { faults: [], refusals: new Set<string>(), isOpen: true, read: new Set<string>(), groups: { billing: GROUP } };
  test("silent loss", () => expect(faultsOf(visit, null).join()).toContain("lost in silence"));
  test("a group held up", () =>
    expect(faultsOf({ ...visit, groups: { billing: { ...GROUP, lag: 24 } } }, ["0@5"]).join()).toContain("held up"));
  test("negative lag", () =>
    expect(faultsOf({ ...visit, groups: { billing: { ...GROUP, lag: -1 } } }, null)).toEqual(["billing: lag is -1"]));
});
