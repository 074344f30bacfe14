/** Finding events again, in a log that holds many: by what they are, page by page, all of them, and as they come. */
import { type Event, type Query, RheoError } from "@rheo/core";
import { Pings } from "../pings.ts";
import { percentiles, type Question, rate, type Sample, type Scale, secondsOf } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import { type Opened, openAgain, type System, tidy } from "../systems.ts";

const APPEND = 1_000;
const PARTITIONS = 4;
/** The first ones compile and warm caches; they do not count. */
const WARM_UP = 5;
/** So many shapes of query share the pings of a run. */
const PINGS_SHARE = 4;
const INDEXED = "payload.order";

type Shape = readonly [name: string, query: (index: number) => Query];

const SHAPES: readonly Shape[] = [
  ["the newest 100", () => ({ order: "desc", limit: 100 })],
  ["a key", (index) => ({ key: `order-${(index * 37) % 5_000}` })],
  ["a path with an index", (index) => ({ where: { [INDEXED]: `order-${(index * 41) % 5_000}` } })],
  ["a path without, 1 in 97", (index) => ({ where: { "payload.tenant": `tenant-${index % 97}` }, limit: 100 })],
  [
    "a range and a path",
    (index) => ({ where: { "payload.version": { gte: index % 30 }, "payload.data.quantity": 3 }, limit: 100 }),
  ],
  ["a time, 100 from there", (index) => ({ from: new Date(Date.now() - 1_000 * (index % 10)), limit: 100 })],
];

const fill = async ({ rheo, place }: Opened, events: number): Promise<readonly Event[]> => {
  await rheo.createStream("bench", { partitions: PARTITIONS });
  const some: Event[] = [];
  for (let from = 0; from < events; from += APPEND)
    some.push(...(await rheo.appendMany("bench", sampleEvents(from, APPEND))).slice(0, 1));
  await rheo.createIndex("bench", INDEXED).catch((error: unknown) => {
    if (!RheoError.is(error, "unsupported")) throw error; // then it looks at every event
  });
  if (place.kind === "server") await tidy(place.store, place.url);
  return some;
};

const timesOf = async (count: number, work: (index: number) => Promise<unknown>): Promise<readonly number[]> => {
  const taken: number[] = [];
  for (let index = 0; index < WARM_UP + count; index++) {
    const startMs = performance.now();
    await work(index);
    taken.push(performance.now() - startMs);
  }
  return taken.slice(WARM_UP);
};

/** From the call of append, elsewhere if there is an elsewhere, to the event in the loop of `tail`. */
const tailed = async (opened: Opened, system: System, pings: number): Promise<readonly Sample[]> => {
  const sender = opened.place.kind === "server" ? await openAgain(opened.place) : opened.rheo;
  await opened.rheo.createStream("tailed");
  const arrivals = new Pings();
  const abort = new AbortController();
  const reading = (async () => {
    for await (const event of opened.rheo.tail("tailed", { signal: abort.signal }))
      arrivals.note((event.payload as { readonly at: number }).at); // as sent below
  })();
  const taken = await arrivals.run(pings, (at) => sender.append("tailed", { payload: { at } }));
  abort.abort();
  await reading;
  if (sender !== opened.rheo) await sender.close();
  return percentiles("append → tail", system, taken);
};

const ask = async (system: System, { events, pings }: Scale): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const { rheo } = opened;
  const some = await fill(opened, events);
  const count = Math.max(1, Math.ceil(pings / PINGS_SHARE));
  const samples: Sample[] = [];
  const byId = await timesOf(count, (index) => rheo.getEvent("bench", some[index % some.length]?.id ?? ""));
  samples.push(...percentiles("query: an id", system, byId));
  for (const [name, query] of SHAPES)
    samples.push(...percentiles(`query: ${name}`, system, await timesOf(count, (index) => rheo.query("bench", query(index)))));
  let scanned = 0;
  const seconds = await secondsOf(async () => {
    for await (const event of rheo.scan("bench")) if (event.payload !== null) scanned += 1;
  });
  samples.push(rate("scan", system, scanned, seconds), ...(await tailed(opened, system, pings)));
  await opened.close();
  return samples;
};

export const searching: Question = { name: "searching", title: "finding events", mostRuns: 1, ask };
