/**
 * A process whose groups have nothing to do: `node idle.js URL GROUPS PARTITIONS`. It tells its parent when it has become quiet, then what it takes
 * of a processor, in %; and ends with it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { STREAM } from "../backlog.ts";
import { median } from "../results/statistics.ts";

/** Until what the start left to do is done, and polls come as rarely as they do where nothing happens, in ms. */
const SETTLE_MS = 30_000;
/** Looked at in parts, of which the one in the middle counts: in one or another the engine compiles or collects what the start left. */
const PARTS = 5;
const PART_MS = 3_000;
const NOTHING = handler(() => undefined);

const processorShare = async (ms: number): Promise<number> => {
  const before = process.cpuUsage();
  const startMs = performance.now();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ((performance.now() - startMs) * 10);
};

process.once("disconnect", () => process.exit());

const [url, groups, partitions] = process.argv.slice(2) as [string, string, string]; // as its parent starts it
const rheo = await Rheo.open(url);
await rheo.ensureStream(STREAM, { partitions: Number(partitions) });
const consumers = Array.from({ length: Number(groups) }, (_, group) =>
  defineConsumer({ stream: STREAM, group: `${group}`, handler: NOTHING, createGroup: {} }),
);
await supervise({ rheo, consumers });
await sleep(SETTLE_MS);
process.send?.("quiet");
const shares: number[] = [];
while (shares.length < PARTS) shares.push(await processorShare(PART_MS));
process.send?.(median(shares));
