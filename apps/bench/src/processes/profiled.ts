/**
 * A process that is looked at by the sampling profiler while it appends or drains: `node profiled.js URL PART EVENTS`, with PART "append" or an
 * execution. The profile goes to the folder that the environment names. It has done the same before, so that the code is compiled.
 */
import { Rheo } from "@rheo/core";
import type { Execution } from "@rheo/runtime";
import { callsOf, fill, GROUP, STREAM } from "../backlog.ts";
import { drainHere } from "../draining.ts";
import { startProfile } from "../flame/profiling.ts";
import { SMALL_BYTES } from "../sample.ts";

const CALLERS = 4;
const PROFILED = new URL("../handlers/profiled.js", import.meta.url);

const [url, part, events] = process.argv.slice(2) as [string, "append" | Execution, string]; // as its parent starts it
const count = Number(events);
const rheo = await Rheo.open(url);

const appendAll = async (): Promise<void> => {
  const calls = callsOf(count, SMALL_BYTES);
  const caller = async (): Promise<void> => {
    for (let call = calls.pop(); call !== undefined; call = calls.pop()) await rheo.appendMany(STREAM, call);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
};

const onEmptyStream = async (work: () => Promise<unknown>): Promise<void> => {
  await rheo.createStream(STREAM, { partitions: 1 });
  await rheo.createGroup(STREAM, GROUP);
  await work();
  await rheo.deleteStream(STREAM, { confirm: true });
};

if (part === "append") {
  await onEmptyStream(appendAll);
  await onEmptyStream(async () => {
    const stop = await startProfile();
    await appendAll();
    await stop(part);
  });
} else {
  const drain = (handler?: URL) => async (): Promise<void> => {
    await fill({ events: count }, (call) => rheo.appendMany(STREAM, call));
    await drainHere(rheo, part, count, handler);
  };
  await onEmptyStream(drain());
  await onEmptyStream(drain(PROFILED));
}
await rheo.close();
