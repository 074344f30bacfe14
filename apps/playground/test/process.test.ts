/** What the command leaves behind, and whom it answers. */
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { command, isAlive, Running, stateAt } from "./fixtures/running.ts";

const PATIENCE = { timeout: 20_000 };

/** Pids of two members that run, the second of them frozen. */
const startMembers = async (url: string): Promise<readonly number[]> => {
  for (let left = 2; left > 0; left -= 1) await command(url, { type: "start" });
  await expect.poll(async () => (await stateAt(url)).members.map(({ state }) => state), PATIENCE).toEqual(["running", "running"]);
  await command(url, { type: "member", name: "member-2", deed: "freeze" });
  const { members } = await stateAt(url);
  expect(members.map(({ state }) => state)).toEqual(["running", "frozen"]);
  return members.map(({ pid }) => pid);
};

describe("the end of a playground", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("by %s leaves no process and no file, be a member frozen or not", async (signal) => {
    await using running = new Running();
    const pids = await startMembers(await running.url());
    running.signal(signal);
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(running.files()).toEqual([]);
  });

  test("by SIGKILL leaves neither for long", async () => {
    await using running = new Running();
    const pids = await startMembers(await running.url());
    running.signal("SIGKILL");
    await expect.poll(() => pids.filter(isAlive), PATIENCE).toEqual([]);
    await expect.poll(() => running.files(), PATIENCE).toEqual([]);
  });
});

test("poison for a process ends in one dead letter, and all else is acked, if members that die are replaced", async () => {
  await using running = new Running();
  const url = await running.url();
  await command(url, { type: "restarts", on: true });
  await command(url, { type: "start" });
  await command(url, { type: "publish", count: 5, poison: "none" });
  await command(url, { type: "publish", count: 1, poison: "process" });
  await command(url, { type: "publish", count: 5, poison: "none" });
  await expect
    .poll(async () => (await stateAt(url)).numbers, { timeout: 50_000 })
    .toMatchObject({ published: 11, lag: 0, inflight: 0, retrying: 0, dead: 1 });
});

describe("a command", () => {
  test("is refused whole when a part of it is wrong, or when another page may have sent it", async () => {
    await using running = new Running();
    const url = await running.url();
    const wrong = [
      { type: "publish", count: 1_001 },
      { type: "publish", count: 1, poison: "all" },
      { type: "publish", count: 1, extra: 1 },
      { type: "publisher", perSecond: 201 },
      { type: "member", name: "../x", deed: "kill" },
      { type: "member", name: "member-1", deed: "explode" },
      { type: "mode", name: "member-1", kind: "slow", ms: 0 },
      { type: "nothing" },
      {},
    ];
    const statuses = await Promise.all(wrong.map(async (body) => (await command(url, body)).status));
    expect(statuses).toEqual(wrong.map(() => 400));
    expect((await command(url, { type: "publish" }, {})).status).toBe(403);
    expect(await statusFor(url, "rebound.example")).toBe(403);
    expect((await stateAt(url)).numbers).toMatchObject({ published: 0, members: 0 });
  });
});

describe("usage", () => {
  test.each([
    [["--port", "65536"]],
    [["--port", "x"]],
    [["--store", "memory:"]],
    [["--store", "nothing:"]],
    [["--unknown"]],
    [["excess"]],
  ])("refuses %j with exit code 2", async (args) => {
    await using running = new Running(args);
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toBe("");
    expect(running.files()).toEqual([]);
  });
});

/** Status of the state for a `Host` header, which `fetch` does not let one choose. */
const statusFor = (url: string, host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(`${url}api/state`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once("error", reject)
      .end();
  });
