/** A process that fills a stream and drains it: `node drain.js URL EXECUTION EVENTS`. It tells its parent its Node and events per second, and ends with it. */
import { Rheo } from "@rheo/core";
import type { Execution } from "@rheo/runtime";
import { fill, GROUP, STREAM } from "../backlog.ts";
import { drainHere } from "../draining.ts";
import { lasting } from "../question.ts";

process.once("disconnect", () => process.exit());

const [url, execution, events] = process.argv.slice(2) as [string, Execution, string]; // as its parent starts it
const rheo = await Rheo.open(url);

const drained = async (some: number): Promise<number> => {
  await rheo.createStream(STREAM, { partitions: 1 });
  await rheo.createGroup(STREAM, GROUP);
  await fill({ events: some }, (call) => rheo.appendMany(STREAM, call));
  const seconds = await drainHere(rheo, execution, some);
  await rheo.deleteStream(STREAM, { confirm: true });
  return some / seconds;
};

const perSecond = await lasting(Number(events), drained);
await rheo.close();
process.send?.({ version: process.version, perSecond });
