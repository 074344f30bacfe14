import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { prometheus } from "@rheo/telemetry/prometheus";
import { expect, test } from "vitest";
import { scrape } from "./fixtures/scrape.ts";
import { openOrders } from "./fixtures/stores.ts";

/** Lets a thread die of something, and says what classes its deaths were of. */
const deathsOf = async (what: string, more: Partial<ConsumerOptions> = {}): Promise<(string | undefined)[]> => {
  await using rheo = await openOrders([{ do: what }]);
  await using metrics = prometheus({ rheo });
  const handler = new URL("./fixtures/actions.mjs", import.meta.url);
  const consumer = { stream: "orders", group: "g", createGroup: { maxAttempts: 1 }, handler, ...more };
  await using app = await supervise({ rheo, threads: 1, consumers: [consumer], resourceLimits: { maxOldGenerationSizeMb: 32 } });
  await rheo.whenCaughtUp("orders", "g");
  await app.stop();
  return (
    scrape(await metrics.text())
      .get("rheo_thread_deaths_total")
      ?.samples.map(({ labels }) => labels.why) ?? []
  );
};

test("a thread's death is of a class, whatever its reason says", async () => {
  expect(await deathsOf("exit")).toEqual(["exit"]);
  expect(await deathsOf("throwInTimer")).toEqual(["error"]);
  expect(await deathsOf("fillMemory")).toEqual(["memory"]);
  expect(await deathsOf("spinForever", { timeoutMs: 20 })).toEqual(["timeout"]);
});
