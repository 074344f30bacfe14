/** A failover to a server without the last commits: what the README says is lost, and what its SQL prevents. */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { startPostgres } from "@rheo/testing/servers";
import { afterEach, expect, test } from "vitest";
import { sqlWith } from "./fixtures/readme.ts";
import {
  ackOf,
  acks,
  event,
  fetching,
  fill,
  GROUP,
  openBackend,
  request,
  STREAM,
  sequencesOf,
  settling,
} from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

let stop: (() => Promise<void>) | null = null;
afterEach(async () => await stop?.());

test.each([
  ["as it is, the first of two leases that look alike counts", false],
  ["with the tokens put up, a lease from the lost tail is stale", true],
])("%s", async (_, raised) => {
  const server = await startPostgres();
  stop = () => server.stop();
  const options = { url: server.url, schema: "rheo", notify: false };
  const folder: string = (await once(server.url, (client) => client.query("SHOW data_directory"))).rows[0].data_directory;
  const copy = join(dirname(folder), "copy");
  const before = await openBackend(options);
  await fill(before, 10);
  const [kept] = (await before.exchange(fetching(3))).grants;
  await before.exchange(settling([{ ...ackOf(kept, 1), sequences: [1, 2] }]));
  await before.close();
  await server.kill();
  execFileSync("cp", ["-a", folder, copy]);
  await server.restart();

  const old = await openBackend(options);
  const lost = [{ stream: STREAM, partitions: 1, events: [event("lost")] }];
  expect(await old.append(lost)).toMatchObject([{ events: [{ sequence: 11 }] }]);
  const [held] = (await old.exchange(fetching(4))).grants;
  await old.exchange(settling([ackOf(held, 4)]));
  await old.close();
  await server.kill();
  execFileSync("rm", ["-r", folder]);
  execFileSync("mv", [copy, folder]);
  await server.restart();
  if (raised) await once(server.url, async (client) => void (await client.query(await sqlWith("token_floor"))));

  const backend = await openBackend(options);
  // the sequence is given again; the lost event, repeated, is stored once
  expect(await backend.append([request(1)])).toMatchObject([{ events: [{ sequence: 11 }] }]);
  for (let n = 0; n < 2; n++) expect(await backend.append(lost)).toMatchObject([{ events: [{ sequence: 12 }] }]);
  // the settle is gone, and 4 comes again
  const [again] = (await backend.exchange(fetching(4, [], "b"))).grants;
  expect(sequencesOf(again === undefined ? [] : [again])).toEqual([4, 5, 6, 7]);
  const late = (await backend.exchange(settling([ackOf(held, 5)]))).settled[0]?.[0];
  const own = (await backend.exchange(settling([ackOf(again, 5)]))).settled[0]?.[0];
  if (raised) {
    expect(again?.token).toBeGreaterThan(1_000_000);
    expect([late?.state, own?.state]).toEqual(["stale", "acked"]);
  } else {
    expect(again?.token).toBe(held?.token);
    expect([late, own]).toEqual([{ state: "acked" }, { state: "stale", why: "settled" }]);
  }
  // a lease that was not lost is as good as ever
  expect((await backend.exchange(settling([ackOf(kept, 3)]))).settled).toEqual([[{ state: "acked" }]]);
  await backend.exchange(settling([{ ...ackOf(again, 4), sequences: [4, 6, 7] }]));
  await backend.exchange(settling(acks((await backend.exchange(fetching(10))).grants)));
  expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 12, highWatermark: 12 }]);
  await backend.close();
});
