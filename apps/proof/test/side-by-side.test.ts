/** A rolling deployment: processes of another copy of the packages are replaced, one by one, by processes of this one, over one store. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { openFixturePlace, otherCopy } from "@rheo/proof";
import { findRedis } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";

const MEMBER = fileURLToPath(new URL("./fixtures/member.mjs", import.meta.url));
const MEMBERS = 3;
const EVENTS = 900;
const AT_ONCE = 100;
const old = process.env.RHEO_OLD_VERSION ?? "";
const copy = otherCopy(MEMBER, old === "" ? null : old);
afterAll(() => copy.close());

const urlOf = (store: string, place: string): string => (store === "sqlite" ? `sqlite:${place}/events.db` : place);

const end = async (member: ChildProcess): Promise<void> => {
  const ended = once(member, "exit");
  member.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
};

test.each(["sqlite", "postgres", "redis"])(
  "members of two copies share the work on %s, and nothing is handled twice",
  async (store) => {
    if (store === "redis" && findRedis() === null && process.env.CI !== "true")
      return console.log("no redis-server: not run on redis");
    const { place, close } = await openFixturePlace(store);
    const url = urlOf(store, place);
    const rheo = await Rheo.open(url);
    await rheo.createStream("orders", { partitions: 2 });
    await rheo.createGroup("orders", "workers");
    const handled: { readonly id: string; readonly attempt: number; readonly by: string }[] = [];
    const start = async (path: string): Promise<ChildProcess> => {
      const member = fork(path, [url]);
      member.on("message", (message) => {
        if (typeof message === "object" && message !== null)
          handled.push({ ...(message as { id: string; attempt: number }), by: path });
      });
      await once(member, "message");
      return member;
    };
    const members = await Promise.all(Array.from({ length: MEMBERS }, () => start(copy.path)));
    let appended = 0;
    const append = async (): Promise<void> => {
      await rheo.appendMany(
        "orders",
        Array.from({ length: AT_ONCE }, () => ({ id: `e${appended++}`, payload: { n: appended } })),
      );
    };
    for (const old of members.splice(0)) {
      await append();
      members.push(await start(MEMBER));
      await append();
      await end(old);
    }
    while (appended < EVENTS) await append();
    await rheo.whenCaughtUp("orders", "workers", { signal: AbortSignal.timeout(60_000) });
    await Promise.all(members.map(end));
    expect(handled.length).toBe(EVENTS);
    expect(new Set(handled.map(({ id }) => id)).size).toBe(EVENTS);
    expect(handled.every(({ attempt }) => attempt === 1)).toBe(true);
    expect(new Set(handled.map(({ by }) => by)).size).toBe(2);
    await rheo.close();
    await close();
  },
);
