/** What groups cost that have nothing to do: the processor's time here, and calls at the store. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { STREAM } from "../backlog.ts";
import { Meter } from "../meter.ts";
import { type Question, type Sample, sampleOf } from "../question.ts";
import { median } from "../results/statistics.ts";
import type { System } from "../systems.ts";

/** Until what the start left to do is done, and polls come as rarely as they do where nothing happens, in ms. */
const SETTLE_MS = 30_000;
/** Looked at in parts, of which the one in the middle counts: in one or another the engine compiles or collects what the start left. */
const PARTS = 5;
const PART_MS = 3_000;
const NOTHING = handler(() => undefined);

/** What this process takes of a processor meanwhile, in %. */
const processorShare = async (ms: number): Promise<number> => {
  const before = process.cpuUsage();
  const startMs = performance.now();
  await sleep(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / ((performance.now() - startMs) * 10);
};

interface Manner {
  readonly groups: number;
  readonly partitions: number;
}

const ask = async (system: System, { groups, partitions }: Manner): Promise<readonly Sample[]> => {
  const opened = await system.open();
  await opened.rheo.createStream(STREAM, { partitions });
  const consumers = Array.from({ length: groups }, (_, group) =>
    defineConsumer({ stream: STREAM, group: `${group}`, handler: NOTHING, createGroup: {} }),
  );
  const app = await supervise({ rheo: opened.rheo, consumers });
  await sleep(SETTLE_MS);
  const meter = await Meter.start(opened.place);
  const startMs = performance.now();
  const shares: number[] = [];
  while (shares.length < PARTS) shares.push(await processorShare(PART_MS));
  const passedMs = performance.now() - startMs;
  const used = await meter.stop();
  await app.stop();
  await opened.close();
  const parameters = { groups, partitions };
  return [
    sampleOf("CPU of this process when idle", system, "%", median(shares), parameters),
    ...(used.calls === null
      ? []
      : [sampleOf("calls at the store when idle", system, "calls/s", (used.calls * 1_000) / passedMs, parameters)]),
    ...(used.connections === null
      ? []
      : [sampleOf("connections when idle", system, "connections", used.connections, parameters)]),
  ];
};

const question = (manner: Manner, isRare: boolean): Question => ({
  name: "idle",
  title: `${manner.groups} idle groups on ${manner.partitions} partitions`,
  isRare,
  mostRuns: 1,
  ask: (system) => ask(system, manner),
});

export const idles: readonly Question[] = [
  question({ groups: 1, partitions: 1 }, false),
  question({ groups: 100, partitions: 1 }, false),
  question({ groups: 100, partitions: 16 }, true),
  question({ groups: 1_000, partitions: 1 }, true),
];
