/** A consumer process: `node member.js URL hold|ack`. It tells its parent of each handler that starts, and ends with it. */
import { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";

const [url = "", manner = "ack"] = process.argv.slice(2);

process.once("disconnect", () => process.exit());

const rheo = await Rheo.open(url);
const noted = handler(async () => {
  process.send?.("started");
  if (manner === "hold") await new Promise(() => undefined); // until the process is killed
});
const consumer = defineConsumer({ stream: "bench", group: "recovery", handler: noted, execution: "inline", concurrency: 1_000 });
await supervise({ rheo, consumers: [consumer] });
process.send?.("ready");
