/** The flow of `@rheo/pipeline` beside a bare loop of fetch, the same handler, and settle; each on a backlog of its own. */
import { ack, type Event } from "@rheo/core";
import { consume, type PipelineOptions, pipeline } from "@rheo/pipeline";
import { backlog, GROUP, STREAM, settledAll } from "../backlog.ts";
import { type Question, rate, type Sample, secondsOf } from "../question.ts";
import type { Opened, System } from "../systems.ts";

/** Of one fetch of the bare loop. A pipeline with twice that demand asks for as many at a time. */
const LIMIT = 1_000;
const DEMAND = 2 * LIMIT;
const CONCURRENCY = 64;
const BATCH = 100;

/** Looks into the event, so that its payload has to be there. */
const work = (event: Event): void => {
  if (event.payload === null) throw new TypeError("the samples have a payload");
};

/** From the first fetch until everything is acked, in s. */
type Way = (opened: Opened, events: number) => Promise<number>;

const bareLoop: Way = ({ rheo }) =>
  secondsOf(async () => {
    for (;;) {
      const leases = await rheo.fetch(STREAM, GROUP, { limit: LIMIT });
      if (leases.length === 0) return;
      for (const { event } of leases) work(event);
      await rheo.settle(leases.map((lease) => ({ lease, outcome: ack() })));
    }
  });

const iterated: Way = (opened, events) =>
  secondsOf(async () => {
    let acked = 0;
    for await (const lease of consume(opened.rheo, STREAM, GROUP, { maxDemand: DEMAND })) {
      work(lease.event);
      void lease.ack();
      acked += 1;
      if (acked === events) break; // which waits for the acks
    }
  });

const piped =
  (options: Pick<PipelineOptions, "processors" | "batchers" | "partitionBy">): Way =>
  async (opened, events) => {
    const settled = settledAll(opened, events);
    let running: ReturnType<typeof pipeline> | null = null;
    const seconds = await secondsOf(async () => {
      running = pipeline({ rheo: opened.rheo, stream: STREAM, group: GROUP, maxDemand: DEMAND, ...options });
      await settled;
    });
    await (running as ReturnType<typeof pipeline> | null)?.stop();
    return seconds;
  };

const each = { concurrency: CONCURRENCY, handle: async ({ event }: { event: Event }): Promise<void> => work(event) };
const pass = { concurrency: CONCURRENCY, handle: (): undefined => undefined };
const batches = {
  default: {
    size: BATCH,
    concurrency: 2,
    handle: async (messages: readonly { event: Event }[]): Promise<void> => {
      for (const { event } of messages) work(event);
    },
  },
};

const WAYS: readonly (readonly [string, Way])[] = [
  [`a bare loop, ${LIMIT} per fetch and settle`, bareLoop],
  ["consume", iterated],
  ["pipeline, processors", piped({ processors: each })],
  [`pipeline, batches of ${BATCH}`, piped({ processors: pass, batchers: batches })],
  ["pipeline, processors and batches by key", piped({ processors: each, batchers: batches, partitionBy: ({ key }) => key })],
];

const ask = async (system: System, name: string, way: Way, events: number): Promise<Sample> => {
  const opened = await system.open();
  await backlog(opened, { events });
  const seconds = await way(opened, events);
  await opened.close();
  return rate(name, system, events, seconds);
};

export const pipelineFlow: Question = {
  name: "pipeline",
  title: "a pipeline beside a bare loop",
  mostRuns: 1,
  ask: async (system, { events }) => {
    const samples: Sample[] = [];
    for (const [name, way] of WAYS) samples.push(await ask(system, name, way, events));
    return samples;
  },
};
