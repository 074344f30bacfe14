import { Rheo } from "@rheo/core";
import { fromUrl, lmdb } from "@rheo/lmdb";
import { fileSystemOf, optionsFromUrl, planMap, resolveOptions } from "@rheo/lmdb/internal";
import { expect, test } from "vitest";
import { newDirectory } from "./fixtures/store.ts";

test("a path is enough, and then what is acknowledged is on the disk", () => {
  expect(resolveOptions({ path: "./events" })).toEqual({ path: "./events", durability: "sync" });
});

test.each([
  [{}, "path"],
  [undefined, "path"],
  [{ path: "" }, "path"],
  [{ path: "a\0b" }, "path"],
  [{ path: 7 }, "path"],
  [{ path: "x", durability: "none" }, "durability"],
  [{ path: "x", mapSize: 1 }, "mapSize"],
])("%j is refused", (options, path) => {
  expect(() => lmdb(options as never)).toThrow(
    expect.objectContaining({ code: "invalid_option", details: expect.objectContaining({ path }) }),
  );
});

test.each([
  ["lmdb:./events", { path: "./events" }],
  ["lmdb:/data/events", { path: "/data/events" }],
  ["lmdb:///data/events", { path: "/data/events" }],
  ["lmdb:./a%20b?durability=relaxed", { path: "./a b", durability: "relaxed" }],
  ["lmdb:./events?durability=sync", { path: "./events", durability: "sync" }],
])("%s", (url, options) => {
  expect(optionsFromUrl(url)).toEqual(options);
});

test.each(["lmdb:", "lmdb:?durability=sync", "lmdb:./x?durability=no", "lmdb:./x?size=1", "lmdb:./%zz", "sqlite:./x"])(
  "%s is refused",
  (url) => {
    expect(() => fromUrl(url)).toThrow(expect.objectContaining({ code: "invalid_option" }));
  },
);

test("a store is opened by its URL", async () => {
  const rheo = await Rheo.open(`lmdb:${newDirectory()}/events?durability=relaxed`);
  await rheo.createStream("s");
  expect(rheo.capabilities).toMatchObject({ persistent: true, distributed: false, transactions: false, wakeups: "process" });
  await rheo.close();
});

test("the file system of a directory is that of the longest mount above it", () => {
  const mounts = [
    "/dev/sda1 / ext4 rw 0 0",
    "me@host:/x /mnt/my\\040files fuse.sshfs rw 0 0",
    "/dev/sdb1 /mnt/my\\040files/local ext4 rw 0 0",
  ].join("\n");
  expect(fileSystemOf(mounts, "/home/x")).toBe("/dev/sda1 ext4");
  expect(fileSystemOf(mounts, "/mnt/my files/store")).toBe("me@host:/x fuse.sshfs");
  expect(fileSystemOf(mounts, "/mnt/my files/local/store")).toBe("/dev/sdb1 ext4");
  expect(fileSystemOf(mounts, "/mnt/my files2")).toBe("/dev/sda1 ext4");
});

test("the map takes a share of a limit on address space, and does not grow then", () => {
  const limits = (soft: string): string =>
    `Limit  Soft Limit  Hard Limit  Units\nMax address space         ${soft}            unlimited            bytes\n`;
  expect(planMap(limits("unlimited"))).toEqual({ bytes: 2 ** 38, isLimit: false });
  expect(planMap(null)).toEqual({ bytes: 2 ** 38, isLimit: false });
  expect(planMap(limits(String(2 ** 32)))).toEqual({ bytes: 2 ** 30, isLimit: true });
  expect(planMap(limits("1000"))).toEqual({ bytes: 2 ** 26, isLimit: true });
});
