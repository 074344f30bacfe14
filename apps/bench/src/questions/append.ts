import { type Question, rate, type Sample, secondsOf } from "../question.ts";
import { sampleEvent, sampleEvents } from "../sample.ts";
import type { Opened } from "../systems.ts";

/** Calls that wait for an answer at the same time, where events are appended singly. */
const CALLERS = 64;

const oneByOne = async ({ rheo }: Opened, events: number): Promise<void> => {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < events) await rheo.append("bench", sampleEvent(next++));
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
};

const inCallsOf = async ({ rheo }: Opened, events: number, size: number): Promise<void> => {
  for (let from = 0; from < events; from += size) await rheo.appendMany("bench", sampleEvents(from, size));
};

/** 1, 100 and 1,000 events per call. */
export const append: Question = {
  name: "append",
  title: "append, events per call",
  ask: async (system, { events }) => {
    const samples: Sample[] = [];
    for (const size of [1, 100, 1_000]) {
      const opened = await system.open();
      await opened.rheo.createStream("bench");
      const count = size === 1 ? Math.ceil(events / 10) : events;
      const seconds = await secondsOf(() => (size === 1 ? oneByOne(opened, count) : inCallsOf(opened, count, size)));
      samples.push(rate(`append ${size} per call${size === 1 ? ` (${CALLERS} callers)` : ""}`, system, count, seconds));
      await opened.close();
    }
    return samples;
  },
};
