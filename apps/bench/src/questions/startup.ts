/** From nothing to the first event in a handler. */
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { GROUP, STREAM } from "../backlog.ts";
import { Member } from "../member.ts";
import { milliseconds, type Question, type Sample } from "../question.ts";
import { type Opened, type System, sharedUrlOf } from "../systems.ts";

/** In ms, of a consumer in this process. */
const consumerTime = async ({ rheo }: Opened): Promise<number> => {
  const startMs = performance.now();
  let firstMs = Number.NaN;
  const first = handler(() => {
    firstMs = performance.now();
  });
  const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler: first, execution: "inline" });
  const app = await supervise({ rheo, consumers: [consumer] });
  await rheo.whenCaughtUp(STREAM, GROUP);
  await app.stop();
  return firstMs - startMs;
};

/** In ms, of a new process: Node, the packages, the store, the consumer. */
const processTime = async (url: string): Promise<number> => {
  const startMs = performance.now();
  const member = await Member.start(url, "ack");
  await member.counted(1);
  const tookMs = performance.now() - startMs;
  await member.end("SIGTERM");
  return tookMs;
};

const ask = async (system: System): Promise<readonly Sample[]> => {
  const startMs = performance.now();
  const opened = await system.open();
  const openedMs = performance.now() - startMs;
  const { rheo, place } = opened;
  await rheo.createStream(STREAM);
  await rheo.createGroup(STREAM, GROUP);
  await rheo.append(STREAM, { payload: null });
  const samples = [
    milliseconds("open an empty store", system, openedMs),
    milliseconds("start a consumer → first event", system, await consumerTime(opened)),
  ];
  const url = sharedUrlOf(place);
  if (url !== null) {
    await rheo.append(STREAM, { payload: null });
    samples.push(milliseconds("start a process → first event", system, await processTime(url)));
  }
  await opened.close();
  return samples;
};

export const startup: Question = { name: "startup", title: "start-up time", ask };
