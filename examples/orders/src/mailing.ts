/** The mailing worker: a supervised consumer whose handler runs in a worker thread. */
import { once } from "node:events";
import { supervise } from "@rheo/runtime";
import { orders } from "./orders.ts";
import { openShop } from "./shop.ts";
import { environment, untilTold } from "./worker.ts";

const signal = untilTold();
await using shop = await openShop(environment("DATABASE_URL"));
const app = await supervise({
  rheo: shop.rheo,
  threads: 1,
  consumers: [
    {
      stream: orders,
      group: "mailing",
      handler: new URL("./mail.handler.ts", import.meta.url),
      timeoutMs: 10_000,
      maxDemand: 10,
    },
  ],
});
process.send?.("working");
const failure = await Promise.race([app.failure, signal.aborted ? null : once(signal, "abort").then(() => null)]);
await app.stop();
if (failure !== null) throw failure; // given up after several restarts: whoever started this process has to know
