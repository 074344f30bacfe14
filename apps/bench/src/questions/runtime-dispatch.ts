import { type ConsumerDefinition, defineConsumer, supervise } from "@rheo/runtime";
import { backlog, GROUP, STREAM, settledAll } from "../backlog.ts";
import { type Question, rate, type Sample, type Scale, sampleOf, secondsOf } from "../question.ts";
import type { System } from "../systems.ts";

const THREADS = 2;
const CONCURRENCY = 64;

type Mode = Pick<ConsumerDefinition, "execution"> & {
  readonly name: string;
  readonly handler: string;
  readonly batch?: number;
  /** Share of the backlog: slow handlers need no long one. */
  readonly share?: number;
};

const BATCHES = [10, 100, 1_000];
const MODES: readonly Mode[] = (["inline", "worker"] as const).flatMap((execution): Mode[] => [
  { name: "returns at once", execution, handler: "count.js" },
  { name: "async, without waiting", execution, handler: "add.js" },
  { name: "waits 5 ms", execution, handler: "wait.js", share: 0.2 },
  ...BATCHES.map((batch): Mode => ({ name: `batches of ${batch}`, execution, handler: "add-batch.js", batch })),
]);

/** Events per second, and how long the event loop of the main thread was busy for each of them, the store's share included. */
const drain = async (system: System, scale: Scale, mode: Mode): Promise<readonly Sample[]> => {
  const events = Math.max(1, Math.round(scale.events * (mode.share ?? 1)));
  const opened = await system.open();
  await backlog(opened, { events });
  const settled = settledAll(opened, events);
  const consumer = defineConsumer({
    stream: STREAM,
    group: GROUP,
    handler: new URL(`../handlers/${mode.handler}`, import.meta.url),
    execution: mode.execution,
    concurrency: mode.batch === undefined ? CONCURRENCY : Math.max(1, Math.round(CONCURRENCY / mode.batch)),
    ...(mode.batch === undefined ? {} : { batch: { size: mode.batch } }),
  });
  const app = await supervise({ rheo: opened.rheo, consumers: [consumer], threads: THREADS });
  const before = performance.eventLoopUtilization();
  const seconds = await secondsOf(() => settled);
  const { active } = performance.eventLoopUtilization(before);
  await app.stop();
  await opened.close();
  const where = mode.execution === "inline" ? "inline" : `${THREADS} threads`;
  return [
    rate(`runtime, ${where}: ${mode.name}`, system, events, seconds),
    sampleOf(`runtime, ${where}: ${mode.name}, main thread per event`, system, "µs", (active * 1_000) / events),
  ];
};

export const runtimeDispatch: Question = {
  name: "runtime-dispatch",
  title: "events through handlers, by dispatch mode and batch size",
  ask: async (system, scale) => {
    const samples: Sample[] = [];
    for (const mode of MODES) samples.push(...(await drain(system, scale, mode)));
    return samples;
  },
};
