import type { EventInput } from "@rheo/core";
import { type Answerer, type Question, rate, type Sample, secondsOf } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import type { Opened } from "../systems.ts";

interface Manner {
  /** Events per call. */
  readonly size: number;
  /** Calls that wait for an answer at the same time. */
  readonly callers: number;
  /** One call per event is slow: this part of the backlog says enough. */
  readonly share: number;
}

const SINGLY: Manner = { size: 1, callers: 64, share: 0.1 };
const IN_HUNDREDS: Manner = { size: 100, callers: 1, share: 1 };
const IN_BULK: Manner = { size: 1_000, callers: 1, share: 1 };
const IN_BULK_AT_ONCE: Manner = { size: 1_000, callers: 4, share: 1 };

const nameOf = ({ size, callers }: Manner): string => `append ${size} per call${callers === 1 ? "" : ` (${callers} callers)`}`;

type Append = (events: readonly EventInput[]) => Promise<unknown>;

const measure = async (manner: Manner, answerer: Answerer, events: number, append: Append): Promise<Sample> => {
  const { size, callers, share } = manner;
  const count = Math.ceil((events * share) / size) * size;
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next += size;
      await append(sampleEvents(from, size));
    }
  };
  const seconds = await secondsOf(async () => void (await Promise.all(Array.from({ length: callers }, caller))));
  return rate(nameOf(manner), answerer, count, seconds);
};

const appendTo = ({ rheo }: Opened): Append => {
  return (events) => {
    const [first, ...others] = events;
    return first !== undefined && others.length === 0 ? rheo.append("bench", first) : rheo.appendMany("bench", events);
  };
};

export const append: Question = {
  name: "append",
  title: "append, events per call",
  ask: async (system, { events }) => {
    const samples: Sample[] = [];
    for (const manner of [SINGLY, IN_HUNDREDS, IN_BULK, IN_BULK_AT_ONCE]) {
      const opened = await system.open();
      await opened.rheo.createStream("bench");
      samples.push(await measure(manner, system, events, appendTo(opened)));
      await opened.close();
    }
    return samples;
  },
  ofPeers: {
    asked: "append",
    ask: async ({ peer, opened }, answerer, { events }) => {
      const samples: Sample[] = [];
      for (const manner of [SINGLY, IN_BULK, IN_BULK_AT_ONCE])
        samples.push(await measure(manner, answerer, Math.min(events, peer.mostEvents ?? events), opened.enqueue));
      return samples;
    },
  },
};
