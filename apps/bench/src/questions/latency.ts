import type { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { Pings } from "../pings.ts";
import { percentiles, type Question, type Sample, type Scale } from "../question.ts";
import { type Opened, openAgain, type System } from "../systems.ts";

const NAME = "append → handler idle";

const sentAt = (payload: unknown): number => (payload as { readonly at: number }).at; // as sent below

/** From the call of append on `sender` to the start of a handler. */
const ping = async ({ rheo }: Opened, sender: Rheo, count: number): Promise<readonly number[]> => {
  await rheo.createStream("bench");
  const pings = new Pings();
  const noted = handler((event) => pings.note(sentAt(event.payload)));
  const consumer = defineConsumer({ stream: "bench", group: "ping", handler: noted, execution: "inline", createGroup: {} });
  const app = await supervise({ rheo, consumers: [consumer] });
  const taken = await pings.run(count, (at) => sender.append("bench", { payload: { at } }));
  await app.stop();
  return taken;
};

const withinInstance = async (system: System, { pings }: Scale): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const taken = await ping(opened, opened.rheo, pings);
  await opened.close();
  return percentiles(NAME, system, taken);
};

/** As from another process: the handler's side hears of the event from the server only. */
const acrossInstances = async (system: System, { pings }: Scale): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const { place } = opened;
  const samples: Sample[] = [];
  if (place.kind === "server") {
    const sender = await openAgain(place);
    samples.push(...percentiles(`${NAME}, from another instance`, system, await ping(opened, sender, pings)));
    await sender.close();
  }
  await opened.close();
  return samples;
};

export const latency: Question = {
  name: "latency",
  title: "append → handler when idle",
  ask: async (system, scale) => [
    ...(await withinInstance(system, scale)),
    ...(system.kind === "server" ? await acrossInstances(system, scale) : []),
  ],
  ofPeers: {
    asked: "latency",
    ask: async ({ peer, opened }, answerer, scale) => {
      const pings = new Pings(peer.pollMs);
      const stop = await opened.consume("latency", (event) => pings.note(sentAt(event.payload)));
      const taken = await pings.run(scale.pings, (at) => opened.enqueue([{ payload: { at } }]));
      await stop();
      return percentiles(NAME, answerer, taken);
    },
  },
};
