/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { optionsFromUrl, resolveOptions } from "@rheo/redis/internal";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import { lineWith, writeFiles } from "./fixtures/readme.ts";
import { acks, drain, EVERYTHING, fetching, fill, GROUP, openBackend, request, STREAM, settling } from "./fixtures/scene.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no" } });
const { folder, names } = await writeFiles();
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await server.stop();
});

const run = async (file: string): Promise<string> => {
  const env = { ...process.env, RHEO_REDIS_URL: server.url };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env, timeout: 60_000 });
  expect(stderr).toBe("");
  return stdout;
};

test("each file runs", async () => {
  expect(names).toContain("start.mjs");
  for (const name of names) await run(name);
});

test("each URL is one that Rheo takes", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const urls = [...readme.matchAll(/rediss?:\/\/[^\s`"…]+/g)].map(([url]) => url);
  expect(urls.length).toBeGreaterThan(5);
  for (const url of urls) resolveOptions(optionsFromUrl(url.replace("host:port/database", "host:6379/0")));
});

test("a user with the rights that it names can do everything", async () => {
  const rights = (await lineWith("+@read")).split(" ");
  const everything = async (user: string): Promise<void> => {
    const backend = await openBackend({ url: server.url.replace("//", `//${user}:secret@`) });
    const woken = new Promise((resolve) => backend.subscribe(resolve));
    await fill(backend, 20);
    await woken;
    const { grants } = await backend.exchange(fetching(5));
    await backend.renew({
      stream: STREAM,
      group: GROUP,
      consumerId: "a",
      leaseMs: null,
      items: acks(grants).map(({ partition, token, sequences }) => ({ partition, token, sequences })),
    });
    await backend.exchange(
      settling(acks(grants).map((one) => ({ ...one, outcome: { kind: "reject", reason: "r", stack: null } }))),
    );
    expect(await drain(backend, 10)).toBe(15);
    await backend.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge: false });
    await backend.replay({
      stream: STREAM,
      group: GROUP,
      scope: { kind: "query", query: EVERYTHING },
      partitions: null,
      dryRun: false,
    });
    await backend.reset(STREAM, GROUP, { kind: "earliest" });
    expect(await drain(backend, 10)).toBe(20);
    await backend.append([request(1)]);
    await backend.trim({ stream: STREAM, cut: { kind: "keep", last: 2 }, partitions: null, force: true, dryRun: false });
    await backend.deleteGroup(STREAM, GROUP);
    expect(await backend.deleteStream(STREAM)).toBe(true);
    await backend.close();
  };
  const grant = (user: string, allowed: readonly string[]): Promise<string> =>
    redisCommand(server.port, "ACL", "SETUSER", user, "reset", "on", ">secret", ...allowed);
  await grant("app", rights);
  await everything("app");
  // what is refused is logged: nothing of it was tried and done without
  expect(await redisCommand(server.port, "ACL", "LOG")).toBe("*0\r\n");
});
