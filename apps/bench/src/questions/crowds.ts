/** Many groups on one stream, and many streams in one store. */
import { type ConsumerDefinition, defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { acked, fill, STREAM, secondsToAck } from "../backlog.ts";
import { milliseconds, type Question, rate, type Sample, secondsOf } from "../question.ts";
import { type Opened, type System, tidy } from "../systems.ts";

const CONCURRENCY = 64;
const NOTHING = handler(() => undefined);
/** Streams made at once. */
const AT_ONCE = 20;

const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${index}`);

const consumerOf = (stream: string, group: string): ConsumerDefinition =>
  defineConsumer({ stream, group, handler: NOTHING, execution: "inline", concurrency: CONCURRENCY });

/** Every group is delivered every event: as many deliveries as there are events in a usual backlog. */
const drainAll = async (opened: Opened, groups: number, deliveries: number): Promise<number> => {
  const { rheo, place } = opened;
  const events = Math.ceil(deliveries / groups);
  await rheo.createStream(STREAM);
  for (const name of namesOf(groups)) await rheo.createGroup(STREAM, name);
  await fill({ events }, (call) => rheo.appendMany(STREAM, call));
  if (place.kind === "server") await tidy(place.store, place.url);
  const taken = secondsToAck(rheo, events * groups);
  const app = await supervise({ rheo, consumers: namesOf(groups).map((name) => consumerOf(STREAM, name)) });
  const seconds = await taken;
  await app.stop();
  return (events * groups) / seconds;
};

const manyGroups = (groups: number, isRare: boolean): Question => ({
  name: "groups",
  title: `${groups} groups on one stream`,
  isRare,
  ask: async (system, { events }) => {
    const opened = await system.open();
    const perSecond = await drainAll(opened, groups, events);
    await opened.close();
    return [rate("deliveries to groups of one stream", system, perSecond, 1, { groups })];
  },
});

/** Times in ms to make the streams with a group each, to start a consumer for each, and from an event in each to their acks. */
const useMany = async (opened: Opened, streams: number): Promise<{ made: number; started: number; acked: number }> => {
  const { rheo } = opened;
  const names = namesOf(streams);
  const made = await secondsOf(async () => {
    for (let from = 0; from < streams; from += AT_ONCE)
      await Promise.all(
        names.slice(from, from + AT_ONCE).map(async (name) => {
          await rheo.createStream(name);
          await rheo.createGroup(name, "only");
        }),
      );
  });
  const consumers = names.map((name) => consumerOf(name, "only"));
  let app: Awaited<ReturnType<typeof supervise>> | null = null;
  const started = await secondsOf(async () => {
    app = await supervise({ rheo, consumers });
  });
  const all = acked(rheo, streams);
  const taken = await secondsOf(async () => {
    await Promise.all(names.map((name) => rheo.append(name, { payload: null })));
    await all;
  });
  await (app as Awaited<ReturnType<typeof supervise>> | null)?.stop();
  return { made: made * 1_000, started: started * 1_000, acked: taken * 1_000 };
};

const manyStreams = (streams: number, isRare: boolean): Question => ({
  name: "streams",
  title: `${streams} streams`,
  isRare,
  mostRuns: 1,
  ask: async (system: System): Promise<readonly Sample[]> => {
    const opened = await system.open();
    const { made, started, acked: taken } = await useMany(opened, streams);
    await opened.close();
    return [
      milliseconds("make a stream and a group", system, made / streams, { streams }),
      milliseconds("start a consumer for each stream", system, started, { streams }),
      milliseconds("an event in each stream → all acked", system, taken, { streams }),
    ];
  },
});

export const crowds: readonly Question[] = [
  ...[1, 10, 100].map((groups) => manyGroups(groups, false)),
  ...[2, 4, 30, 300].map((groups) => manyGroups(groups, true)),
  manyStreams(100, false),
  manyStreams(1_000, false),
];
