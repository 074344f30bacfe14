/** What a long history costs, all of it done with: appending, consuming and reacting at its end. */
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { depthOf, fill, GROUP, STREAM, secondsToAck } from "../backlog.ts";
import { Pings } from "../pings.ts";
import { percentiles, type Question, rate, type Sample, type Scale, secondsOf } from "../question.ts";
import { type System, tidy } from "../systems.ts";

/** Pings are few here: it is about whether they are slower. */
const PINGS_SHARE = 0.25;

const ask = async (system: System, scale: Scale, wanted: number): Promise<readonly Sample[]> => {
  const history = depthOf(system, wanted);
  const opened = await system.open();
  const { rheo, place } = opened;
  await rheo.createStream(STREAM);
  const append = (call: Parameters<typeof rheo.appendMany>[1]): Promise<unknown> => rheo.appendMany(STREAM, call);
  await fill({ events: history }, append);
  await rheo.createGroup(STREAM, GROUP, { start: "latest" });
  if (place.kind === "server") await tidy(place.store, place.url);
  const appended = await secondsOf(() => fill({ events: scale.events }, append));
  const pings = new Pings();
  const noted = handler(({ payload }) => {
    const { at } = payload as { readonly at: number; readonly isPing?: boolean };
    if ((payload as { readonly isPing?: boolean }).isPing === true) pings.note(at);
  });
  const taking = secondsToAck(rheo, scale.events);
  const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler: noted, execution: "inline", concurrency: 64 });
  const app = await supervise({ rheo, consumers: [consumer] });
  const drained = await taking;
  const count = Math.max(1, Math.round(scale.pings * PINGS_SHARE));
  const taken = await pings.run(count, (at) => rheo.append(STREAM, { payload: { at, isPing: true } }));
  await app.stop();
  await opened.close();
  const parameters = { history };
  return [
    rate("append after a history", system, scale.events, appended, parameters),
    rate("drain inline after a history", system, scale.events, drained, parameters),
    ...percentiles("append → handler after a history", system, taken, parameters),
  ];
};

const question = (title: string, history: (scale: Scale) => number): Question => ({
  name: "history",
  title,
  mostRuns: 2,
  ask: (system, scale) => ask(system, scale, history(scale)),
});

export const histories: readonly Question[] = [
  question("with no history", () => 0),
  question("after a long history", ({ deep }) => deep),
];
