/** What no consumer can go below: the payloads made into values, and text again, in one thread. */
import { countOf } from "../../backlog.ts";
import { type Question, rate, secondsOf } from "../../question.ts";
import { SMALL_BYTES, sampleEvents } from "../../sample.ts";

const HERE = { name: "JavaScript", settings: "one thread" };

const question = (bytes: number): Question => ({
  name: "parsing",
  title: `JSON.parse and JSON.stringify alone, ${bytes} B`,
  fits: ({ kind }) => kind === "memory", // the same for every store
  ask: async (_system, scale) => {
    const events = countOf(scale.events, bytes);
    const payloads = sampleEvents(0, events, bytes).map(({ payload }) => payload);
    const texts: string[] = [];
    const written = await secondsOf(async () => {
      for (const payload of payloads) texts.push(JSON.stringify(payload));
    });
    let sum = 0;
    const parsed = await secondsOf(async () => {
      for (const text of texts) sum += (JSON.parse(text) as { version: number }).version;
    });
    if (!(sum >= 0)) throw new TypeError("a payload has no version");
    return [
      rate("JSON.parse alone", HERE, events, parsed, { bytes }),
      rate("JSON.stringify alone", HERE, events, written, { bytes }),
    ];
  },
});

export const parsings: readonly Question[] = [SMALL_BYTES, 4_096, 65_536].map(question);
