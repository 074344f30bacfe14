/** Appending, by events per call and by callers that wait at the same time; and what it is when calls do not share writes. */
import type { EventInput } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import { STREAM } from "../backlog.ts";
import { lasting, type Question, rate, secondsOf } from "../question.ts";
import { sampleBatches } from "../sample.ts";
import type { Opened } from "../systems.ts";

interface Manner {
  /** Events per call. */
  readonly size: number;
  /** Calls that wait for an answer at the same time. */
  readonly callers: number;
  /** Whether calls at the same time share a write, as they do unless they are kept apart. */
  readonly isShared: boolean;
}

/** No call begins later, in ms: slow ones say enough in that time. */
const LONGEST_MS = 1_500;

type Append = (events: readonly EventInput[]) => Promise<unknown>;

const NAME = "append";

/** Events per second. */
const perSecond = async ({ size, callers }: Manner, events: number, append: Append): Promise<number> => {
  const calls = sampleBatches(Math.ceil(events / size) * size, size);
  const endMs = performance.now() + LONGEST_MS;
  let made = 0;
  const caller = async (): Promise<void> => {
    for (let call = calls[made]; call !== undefined && performance.now() < endMs; call = calls[made]) {
      made += 1;
      await append(call);
    }
  };
  const seconds = await secondsOf(async () => void (await Promise.all(Array.from({ length: callers }, caller))));
  return (made * size) / seconds;
};

const together = ({ rheo }: Opened): Append => {
  return (events) => {
    const [first, ...others] = events;
    return first !== undefined && others.length === 0 ? rheo.append(STREAM, first) : rheo.appendMany(STREAM, events);
  };
};

/** By the port below the sharing of writes; with what is checked and made above it. */
const apart = ({ rheo }: Opened): Append => {
  const { backend, clock } = internalsOf(rheo);
  let made = 0;
  const toNew = ({ payload, type, key }: EventInput) => {
    const text = JSON.stringify(payload);
    const id = `${clock.now()}-${made++}`;
    const named = { id, type: type ?? null, key: key ?? null, partition: 0, timestampMs: null, expectedSequence: null };
    const bytes = Buffer.byteLength(text) + id.length + 2;
    return { ...named, metadata: "{}", payload: text, bytes, values: { metadata: {}, payload } };
  };
  return async (events) => {
    const [answer] = await backend.append([{ stream: STREAM, partitions: 1, events: events.map(toNew) }]);
    if (answer?.kind !== "appended") throw new Error(`not appended: ${answer?.kind}`);
  };
};

const question = (manner: Manner, isRare: boolean): Question => {
  const { size, callers, isShared } = manner;
  const parameters = { "per call": size, callers };
  return {
    name: "append",
    title: `append ${size} per call, ${callers} callers${isShared ? "" : ", kept apart"}`,
    isRare,
    ask: async (system, { events }) => {
      const name = isShared ? NAME : `${NAME}, each call a write of its own`;
      const asked = async (some: number): Promise<number> => {
        const opened = await system.open();
        await opened.rheo.createStream(STREAM);
        const measured = await perSecond(manner, some, (isShared ? together : apart)(opened));
        await opened.close();
        return measured;
      };
      return [rate(name, system, await lasting(events, asked), 1, parameters)];
    },
    ...(isShared
      ? {
          ofPeers: {
            asked: "append",
            ask: async ({ peer, opened }, answerer, scale) => {
              const events = Math.min(scale.events, peer.mostEvents ?? scale.events);
              const asked = (some: number): Promise<number> => perSecond(manner, some, opened.enqueue);
              return [rate(NAME, answerer, await lasting(events, asked), 1, parameters)];
            },
          },
        }
      : {}),
  };
};

const shared = (size: number, callers: number): Manner => ({ size, callers, isShared: true });
const USUAL = [shared(1, 1), shared(1, 64), shared(10, 1), shared(100, 1), shared(1_000, 1), shared(1_000, 4)];
const CALLERS = [1, 2, 4, 8, 16, 32, 64];
const RARE = [1, 10, 100, 1_000]
  .flatMap((size) => CALLERS.map((callers) => shared(size, callers)))
  .filter(({ size, callers }) => !USUAL.some((usual) => usual.size === size && usual.callers === callers));

export const appends: readonly Question[] = [
  ...USUAL.map((manner) => question(manner, false)),
  question({ size: 1, callers: 64, isShared: false }, false),
  ...RARE.map((manner) => question(manner, true)),
  ...[1, 8].map((callers) => question({ size: 1, callers, isShared: false }, true)),
];
