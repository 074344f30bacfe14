/** No script holds up the server for long, however much there is to do: as the server itself measures it. */
import type { Backend } from "@rheo/core";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import {
  acks,
  drain,
  EVERYTHING,
  fetching,
  fill,
  GROUP,
  OPTIONS,
  openBackend,
  request,
  STREAM,
  settling,
} from "./fixtures/scene.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no", "slowlog-max-len": "1000" } });
afterAll(() => server.stop());

const admin = (...words: string[]): Promise<string> => redisCommand(server.port, ...words);
const MANY = 100_000;
/**
 * What a script may take of the server's one processor, in ms: as its operating system counts, so that it does not matter what else the
 * machine does. Several times what it takes; a script that did all of the work at once would take far more.
 */
const MOST_MS = 150;

interface Cost {
  readonly scripts: number;
  /** Of the processor, per script. */
  readonly ms: number;
  /** The longest, by the clock. */
  readonly longestMs: number;
}

const counters = async (): Promise<{ scripts: number; ms: number }> => {
  const cpu = await admin("INFO", "cpu");
  const seconds = (name: string): number => Number(new RegExp(`^used_cpu_${name}:([\\d.]+)`, "m").exec(cpu)?.[1]);
  const stats = await admin("INFO", "commandstats");
  const scripts = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
  return { scripts, ms: (seconds("user_main_thread") + seconds("sys_main_thread")) * 1_000 };
};

const costOf = async (work: () => Promise<unknown>): Promise<Cost> => {
  await admin("CONFIG", "SET", "slowlog-log-slower-than", "500");
  await admin("SLOWLOG", "RESET");
  const before = await counters();
  await work();
  const after = await counters();
  // each entry: id, time, microseconds, …
  const log = [...(await admin("SLOWLOG", "GET", "-1")).matchAll(/\*6\r\n:\d+\r\n:\d+\r\n:(\d+)\r\n/g)];
  const scripts = after.scripts - before.scripts;
  return {
    scripts,
    ms: (after.ms - before.ms) / scripts,
    longestMs: Math.max(0, ...log.map(([, microseconds]) => Number(microseconds) / 1_000)),
  };
};

test("appends, drains, replays, redrives, trims and deletions of many events", { timeout: 300_000 }, async () => {
  const backend: Backend = await openBackend({ url: server.url, notify: false });
  await fill(backend, 0);
  const seen: [name: string, cost: Cost][] = [];
  const note = async (name: string, work: () => Promise<unknown>): Promise<void> => void seen.push([name, await costOf(work)]);
  const content = { note: "x".repeat(100) };
  await note("append of 10,000 events", () => backend.append([request(10_000, 1, content)]));
  await note("appends of 1,000", async () => {
    for (let n = 10_000; n < MANY; n += 1_000) await backend.append([request(1_000, 1, content)]);
  });
  await note("drain by 10,000", () => drain(backend, 10_000, MANY / 2));
  await note("drain by 100", () => drain(backend, 100));
  await note("replay of all", () =>
    backend.replay({ stream: STREAM, group: GROUP, scope: { kind: "after", after: 0 }, partitions: null, dryRun: false }),
  );
  await drain(backend, 5_000);
  await note("replay by query", () =>
    backend.replay({
      stream: STREAM,
      group: GROUP,
      scope: { kind: "query", query: EVERYTHING },
      partitions: null,
      dryRun: false,
    }),
  );
  await note("rejection of 10,000 at once", async () => {
    const { grants } = await backend.exchange(fetching(10_000));
    await backend.exchange(
      settling(acks(grants).map((one) => ({ ...one, outcome: { kind: "reject", reason: "r".repeat(100), stack: null } }))),
    );
  });
  await drain(backend, 5_000);
  await note("redrive of all", () => backend.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge: false }));
  await note("a group with a filter that nothing matches", async () => {
    const filter = { type: "none" };
    await backend.createGroup(STREAM, "filtered", { ...OPTIONS, filter: filter as never }, { kind: "earliest" });
    for (let more = true; more; ) ({ more } = await backend.exchange({ ...fetching(100), group: "filtered" }));
  });
  await note("reset", () => backend.reset(STREAM, GROUP, { kind: "earliest" }));
  await note("statistics", async () => [await backend.groupStats(STREAM, GROUP), await backend.holders(STREAM, GROUP)]);
  await note("trim", () =>
    backend.trim({ stream: STREAM, cut: { kind: "keep", last: 40_000 }, partitions: null, force: true, dryRun: false }),
  );
  await note("deleteGroup", () => backend.deleteGroup(STREAM, GROUP));
  await note("deleteStream", () => backend.deleteStream(STREAM));
  for (const [name, { scripts, ms, longestMs }] of seen)
    console.log(
      `${name}: ${scripts} scripts of ${ms.toFixed(2)} ms on average, the longest ${longestMs.toFixed(1)} ms by the clock`,
    );
  for (const [name, { ms }] of seen) expect([name, ms < MOST_MS]).toEqual([name, true]);
  expect(await admin("DBSIZE")).toMatch(/^\d$/);
  await backend.close();
});
