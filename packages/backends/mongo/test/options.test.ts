/** Options, URLs, and what is refused. */
import type { MongoOptions } from "@rheo/mongo";
import { fromUrl, mongo } from "@rheo/mongo";
import { optionsFromUrl, resolveOptions } from "@rheo/mongo/internal";
import { startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import { afterAll, describe, expect, test } from "vitest";
import { fill, openBackend, REAL_TIME } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

describe("options", () => {
  const client = new MongoClient("mongodb://localhost");
  const refused: readonly (readonly [string, unknown, string])[] = [
    ["nothing", {}, "invalid_option"],
    ["both ways", { url: "mongodb://x", client }, "invalid_option"],
    ["an unknown name", { url: "mongodb://x", prefx: "a" }, "invalid_option"],
    ["another protocol", { url: "redis://x" }, "invalid_option"],
    ["no client", { client: {} }, "invalid_option"],
    ["a pool size beside a client", { client, maxConnections: 3 }, "invalid_option"],
    ["a prefix with a dollar", { url: "mongodb://x", prefix: "a$" }, "invalid_name"],
    ["a database with a dot", { url: "mongodb://x", database: "a.b" }, "invalid_name"],
    ["a timeout of zero", { url: "mongodb://x", commandTimeoutMs: 0 }, "invalid_option"],
  ];
  test.each(refused)("%s is refused", (_, options, code) => {
    expect(() => mongo(options as MongoOptions)).toThrow(expect.objectContaining({ code }));
  });

  test("defaults", () => {
    expect(resolveOptions({ url: "mongodb://x/app" })).toMatchObject({ prefix: "rheo", notify: true, database: null });
  });
});

describe("URLs", () => {
  test("Rheo's parameters are taken out, and the driver's stay as they were written", () => {
    expect(
      optionsFromUrl("mongodb://u:p%40@h1:27017,h2/app?replicaSet=rs0&prefix=x&notify=false&authSource=admin&maxConnections=3"),
    ).toEqual({
      url: "mongodb://u:p%40@h1:27017,h2/app?replicaSet=rs0&authSource=admin",
      prefix: "x",
      notify: false,
      maxConnections: 3,
    });
    expect(optionsFromUrl("mongodb+srv://h/app?prefix=x")).toEqual({ url: "mongodb+srv://h/app", prefix: "x" });
  });

  test.each(["mongodb://x/?notify=maybe", "mongodb://x/?prefix=a&prefix=b", "mongodb://x/?maxConnections=many"])(
    "%s is refused",
    (url) => {
      expect(() => fromUrl(url)).toThrow(expect.objectContaining({ code: "invalid_option" }));
    },
  );

  test("a parameter that nobody knows is refused when it is opened, and no error has the password", async () => {
    const error = await fromUrl("mongodb://user:hush@localhost/?colour=red")
      .open(REAL_TIME)
      .catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining("colour") });
    expect(String((error as Error).stack)).not.toContain("hush");
  });
});

test("a server that is not there is unavailable, without the password", async () => {
  const backend = mongo({ url: "mongodb://user:hush@127.0.0.1:1/?replicaSet=rs0", connectTimeoutMs: 200 });
  const error = await backend.open(REAL_TIME).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "unavailable" });
  expect(`${String(error)}${JSON.stringify(error)}`).not.toContain("hush");
});

test("the database of the URL is used, else one that is named rheo", async () => {
  const name = newDatabase();
  const backend = fromUrl(server.url.replace("/?", `/${name}?prefix=mine&`));
  await backend.open(REAL_TIME);
  await fill(backend, 1);
  const client = await new MongoClient(server.url).connect();
  expect(await client.db(name).collection("mine_events").countDocuments()).toBe(1);
  await backend.close();
  await client.close();
});

test("a client of the caller's is used and never closed", async () => {
  const client = await new MongoClient(server.url).connect();
  const backend = await openBackend({ client, database: newDatabase() });
  await fill(backend, 1);
  await backend.close();
  await backend.close();
  await expect(backend.ping()).rejects.toMatchObject({ code: "closed" });
  expect(await client.db("admin").command({ ping: 1 })).toMatchObject({ ok: 1 });
  await client.close();
});

describe("the schema", () => {
  test("is not made without migrate, and one that is newer is refused", async () => {
    const database = newDatabase();
    const open = (migrate: boolean): Promise<void> => mongo({ url: server.url, database }).open({ clock: null, migrate });
    await expect(open(false)).rejects.toMatchObject({ code: "schema_outdated" });
    const backends = Array.from({ length: 4 }, () => mongo({ url: server.url, database }));
    await Promise.all(backends.map((backend) => backend.open(REAL_TIME)));
    for (const backend of backends) await backend.close();
    const client = await new MongoClient(server.url).connect();
    await client
      .db(database)
      .collection<{ _id: string }>("rheo_meta")
      .updateOne({ _id: "schema" }, { $set: { version: 99 } });
    await expect(open(true)).rejects.toMatchObject({ code: "schema_outdated" });
    await client.close();
  });
});
