/** A consumer process: `node member.js URL SCHEMA hold|ack`. It tells its parent of each handler that starts, and ends with it. */
import { Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";

const [url = "", schema = "", manner = "ack"] = process.argv.slice(2);

process.once("disconnect", () => process.exit());

const rheo = await Rheo.open({ backend: postgres({ url, schema }) });
const noted = handler(async () => {
  process.send?.("started");
  if (manner === "hold") await new Promise(() => undefined); // until the process is killed
});
const consumer = defineConsumer({ stream: "bench", group: "recovery", handler: noted, execution: "inline", concurrency: 1_000 });
await supervise({ rheo, consumers: [consumer] });
process.send?.("ready");
