/** A standby, and its promotion: what a failover of the database looks like from here. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";
import { drain, fetching, fill, insist, openBackend, request, STREAM } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

// a standby never says "ready to accept connections", for which the fixture waits: so every line of its log does
const server = await startPostgres({ log_line_prefix: "[ready to accept connections] " });
afterAll(() => server.stop());

test("a standby is opened, read, and unavailable for writes; once promoted it takes them", async () => {
  const options = { url: server.url, schema: "standby" };
  const before = await insist(() => openBackend(options));
  await fill(before, 3);
  await before.close();
  const folder: string = await once(server.url, async (client) => {
    await client.query("CHECKPOINT");
    return (await client.query("SHOW data_directory")).rows[0].data_directory;
  });
  await server.kill();
  await writeFile(join(folder, "standby.signal"), "");
  await server.restart();

  const backend = await insist(() => openBackend(options));
  expect(await once(server.url, async (client) => (await client.query("SELECT pg_is_in_recovery() AS on")).rows)).toEqual([
    { on: true },
  ]);
  expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 3 }]);
  expect((await backend.progress(STREAM, "g"))[0]).toMatchObject({ frontier: 0, highWatermark: 3 });
  const refused = { code: "unavailable", message: expect.stringContaining("connect to the primary") };
  await expect(backend.append([request(1)])).rejects.toMatchObject(refused);
  await expect(backend.exchange(fetching(1))).rejects.toMatchObject(refused);
  await expect(backend.createStream("new", 1)).rejects.toMatchObject(refused);

  await once(server.url, (client) => client.query("SELECT pg_promote()"));
  const one = [request(1)];
  expect(await insist(() => backend.append(one))).toMatchObject([{ kind: "appended", events: [{ sequence: 4 }] }]);
  expect(await drain(backend, 10)).toBe(4);
  await backend.close();
});
