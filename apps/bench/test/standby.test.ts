import { Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { startPostgres } from "@rheo/testing/servers";
import { afterEach, expect, test } from "vitest";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const openAt = async (url: string, migrate: boolean): Promise<Rheo> => {
  const rheo = await Rheo.open({ backend: postgres({ url, notify: false }), migrate });
  stops.push(() => rheo.close());
  return rheo;
};

test("a standby can be searched for what its server has, and refuses appends", async () => {
  const server = await startPostgres();
  stops.push(() => server.stop());
  const writing = await openAt(server.url, true);
  await writing.createStream("orders");
  await writing.append("orders", { payload: { total: 12 } });
  const standby = await startPostgres({}, server.url);
  stops.push(() => standby.stop());
  const reading = await openAt(standby.url, false);
  expect((await reading.query("orders", { where: { "payload.total": 12 } })).map(({ payload }) => payload)).toEqual([
    { total: 12 },
  ]);
  await expect(reading.append("orders", { payload: null })).rejects.toMatchObject({ code: "unavailable" });
});
