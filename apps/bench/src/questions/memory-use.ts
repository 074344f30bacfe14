/** The heap of the program: for events that it holds in flight, and for groups that have nothing to do. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { backlog, GROUP, STREAM } from "../backlog.ts";
import { type Question, type Sample, sampleOf } from "../question.ts";
import type { System } from "../systems.ts";

/** Held at once: the most that one consumer may. */
const HELD = 10_000;
const PARTITIONS = 4;
const MILLION = 1_000_000;
const GROUPS = 100;
/** Collected twice: what the first run finds weakly held is freed by the second. */
const COLLECTIONS = 2;
/** Handlers that do not end are given up after so long, in ms. */
const STOP_MS = 100;

/** Bytes that are in use, of the heap and beside it, once all garbage is collected. */
const inUse = async (): Promise<number> => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void; // there by the flag above
  for (let run = 0; run < COLLECTIONS; run++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** In a consumer whose handlers have all begun and none ends. */
const inFlight = async (system: System): Promise<Sample> => {
  const opened = await system.open();
  await backlog(opened, { events: HELD, partitions: PARTITIONS });
  let begun = 0;
  let resolveAll = (): void => undefined;
  const all = new Promise<void>((resolve) => (resolveAll = resolve));
  const holding = handler(() => {
    if (++begun === HELD) resolveAll();
    return new Promise<undefined>(() => undefined);
  });
  const before = await inUse();
  const options = { stream: STREAM, group: GROUP, handler: holding, concurrency: HELD, maxDemand: HELD };
  const app = await supervise({ rheo: opened.rheo, consumers: [defineConsumer(options)], stopTimeoutMs: STOP_MS });
  await all;
  const bytes = (await inUse()) - before;
  await app.stop();
  await opened.close();
  return sampleOf("memory of a million events in flight", system, "MB", (bytes / HELD) * (MILLION / 1e6), { held: HELD });
};

const ofIdleGroups = async (system: System): Promise<Sample> => {
  const opened = await system.open();
  await opened.rheo.createStream(STREAM);
  const nothing = handler(() => undefined);
  const consumers = Array.from({ length: GROUPS }, (_, group) =>
    defineConsumer({ stream: STREAM, group: `${group}`, handler: nothing, createGroup: {} }),
  );
  const before = await inUse();
  const app = await supervise({ rheo: opened.rheo, consumers });
  const bytes = (await inUse()) - before;
  await app.stop();
  await opened.close();
  return sampleOf("memory of an idle group", system, "KB", bytes / GROUPS / 1_000, { groups: GROUPS });
};

export const memoryUse: Question = {
  name: "memory-use",
  title: "memory of events in flight and of idle groups",
  mostRuns: 1,
  ask: async (system) => [await inFlight(system), await ofIdleGroups(system)],
};
