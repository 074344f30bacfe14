import type { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { callsOf, GROUP, secondsToAck } from "../../backlog.ts";
import { secondsOf } from "../../question.ts";
import { SMALL_BYTES } from "../../sample.ts";

const HANDLER = new URL("../../handlers/add.js", import.meta.url);

export interface Shape {
  readonly streams: number;
  readonly partitions: number;
  /** Of all streams together. */
  readonly events: number;
}

/** Events per second: appended to all streams at the same time, and drained from all of them by one program. */
export const appendAndDrain = async (
  rheo: Rheo,
  { streams, partitions, events }: Shape,
): Promise<{ readonly append: number; readonly drain: number }> => {
  const names = Array.from({ length: streams }, (_, index) => `bench-${index}`);
  for (const name of names) {
    await rheo.createStream(name, { partitions });
    await rheo.createGroup(name, GROUP);
  }
  const calls = callsOf(Math.ceil(events / streams), SMALL_BYTES);
  const total = calls.reduce((sum, { length }) => sum + length, 0) * streams;
  const fillOne = async (name: string): Promise<void> => {
    for (const call of calls) await rheo.appendMany(name, call);
  };
  const appended = await secondsOf(async () => void (await Promise.all(names.map(fillOne))));
  const taking = secondsToAck(rheo, total);
  const consumers = names.map((stream) =>
    defineConsumer({ stream, group: GROUP, handler: HANDLER, execution: "inline", concurrency: 64 }),
  );
  const app = await supervise({ rheo, consumers });
  const drained = await taking;
  await app.stop();
  return { append: total / appended, drain: total / drained };
};
