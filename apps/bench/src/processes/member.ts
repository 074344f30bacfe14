/** A consumer process: `node member.js URL MANNER`. It tells its parent how many events it has begun or acked, and ends with it. */
import { once } from "node:events";
import { Rheo } from "@rheo/core";
import { type ConsumerDefinition, defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { GROUP, STREAM } from "../backlog.ts";
import type { Manners } from "../member.ts";

const THREADS = 2;

process.once("disconnect", () => process.exit());

const [url, manner] = process.argv.slice(2) as [string, Manners]; // as its parent starts it
const rheo = await Rheo.open(url);

const noted = handler(async () => {
  process.send?.(1);
  if (manner === "hold") await new Promise(() => undefined); // until the process is killed
});

const HELD: Pick<ConsumerDefinition, "execution" | "concurrency"> = { execution: "inline", concurrency: 1_000 };
const begin = async (): Promise<void> => {
  if (manner === "hold" || manner === "ack") {
    const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler: noted, ...HELD });
    await supervise({ rheo, consumers: [consumer] });
    process.send?.("ready");
    return;
  }
  process.send?.("ready");
  await once(process, "message"); // the word to begin
  rheo.events.on("lease.settled", ({ acked }) => process.send?.(acked));
  const execution = manner === "drain-inline" ? "inline" : "worker";
  const module = new URL("../handlers/add.js", import.meta.url);
  const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler: module, execution, concurrency: 64 });
  await supervise({ rheo, consumers: [consumer], threads: THREADS });
};

await begin();
