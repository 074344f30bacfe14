/** What an event costs the store: bytes that it logs and keeps, and calls, when it is appended and when it is acked. */
import { defineConsumer, supervise } from "@rheo/runtime";
import { GROUP, STREAM, settledAll } from "../backlog.ts";
import { CONCURRENCY } from "../draining.ts";
import { Meter } from "../meter.ts";
import { type Parameters, type Question, type Sample, sampleOf } from "../question.ts";
import { sampleBatches } from "../sample.ts";
import { type Opened, type System, tidy } from "../systems.ts";

const HANDLER = new URL("../handlers/add.js", import.meta.url);
/** Enough for a number per event; the rest of the backlog adds nothing. */
const SHARE = 0.2;
/** One call for each is slow: fewer say as much. */
const SINGLE_SHARE = 0.1;

const metered = async (
  opened: Opened,
  name: string,
  system: System,
  events: number,
  work: () => Promise<void>,
  parameters: Parameters,
) => {
  const meter = await Meter.start(opened.place);
  await work();
  const { logged, stored, calls } = await meter.stop();
  const sample = (what: string, unit: "bytes" | "calls", total: number | null): readonly Sample[] =>
    total === null || total === 0 ? [] : [sampleOf(`${name}: ${what}`, system, unit, total / events, parameters)];
  return [
    ...sample("logged per event", "bytes", logged),
    ...sample("kept per event", "bytes", stored),
    ...sample("calls per event", "calls", calls),
  ];
};

const drain = async (opened: Opened, events: number): Promise<void> => {
  const settled = settledAll(opened, events);
  const consumer = defineConsumer({
    stream: STREAM,
    group: GROUP,
    handler: HANDLER,
    execution: "inline",
    concurrency: CONCURRENCY,
  });
  const app = await supervise({ rheo: opened.rheo, consumers: [consumer] });
  await settled;
  await app.stop();
};

const ask = async (system: System, events: number, size: number): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const { rheo, place } = opened;
  await rheo.createStream(STREAM);
  await rheo.createGroup(STREAM, GROUP);
  const calls = sampleBatches(events, size);
  const fillIt = async (): Promise<void> => {
    for (const call of calls) await rheo.appendMany(STREAM, call);
  };
  const appended = await metered(opened, "append", system, events, fillIt, { "per call": size });
  if (place.kind === "server") await tidy(place.store, place.url);
  const drained = size === 1 ? [] : await metered(opened, "drain inline", system, events, () => drain(opened, events), {});
  await opened.close();
  return [...appended, ...drained];
};

const question = (size: number): Question => ({
  name: "store-cost",
  title: `what an event costs the store, appended ${size} per call`,
  mostRuns: 1,
  fits: ({ kind, name }) => kind !== "memory" && name !== "mongo",
  ask: (system, { events }) => ask(system, Math.ceil(events * SHARE * (size === 1 ? SINGLE_SHARE : 1)), size),
});

export const storeCosts: readonly Question[] = [1, 1_000].map(question);
