/** Many events, in batches: what was read is appended before more is read, so that any input will do. */
import { type Event, type EventInput, RheoError } from "@rheo/core";
import { utf8Bytes } from "@rheo/core/internal";
import { counted } from "../output/format.ts";
import { linesOf } from "./lines.ts";
import type { Parse, Source } from "./source.ts";

/** Large enough that the round trip does not matter, small enough that a failure leaves little open. */
const BATCH_EVENTS = 1_000;
const BATCH_BYTES = 4_194_304;

export interface Lines extends Source {
  readonly parse: Parse;
}

interface Batch {
  readonly events: EventInput[];
  readonly lines: number[];
  bytes: number;
}

/** Batches of what the lines say. `append` gets each with its lines, in order. */
export const appendAll = async (
  { input, name, parse }: Lines,
  signal: AbortSignal,
  append: (events: readonly EventInput[]) => Promise<readonly Event[]>,
): Promise<void> => {
  let batch: Batch = { events: [], lines: [], bytes: 0 };
  let appended = 0;
  const flush = async (): Promise<void> => {
    if (batch.events.length > 0) appended += (await located(append(batch.events), batch, name, appended)).length;
    batch = { events: [], lines: [], bytes: 0 };
  };
  for await (const { text, number } of linesOf(input)) {
    if (signal.aborted) break;
    batch.events.push(parse(text, `Line ${number} of ${name}`));
    batch.lines.push(number);
    batch.bytes += utf8Bytes(text);
    if (batch.events.length === BATCH_EVENTS || batch.bytes >= BATCH_BYTES) await flush();
  }
  await flush();
};

/** A failure names the line, and says how far it had got. */
const located = async <Answer>(work: Promise<Answer>, { lines }: Batch, name: string, appended: number): Promise<Answer> => {
  try {
    return await work;
  } catch (error) {
    if (!RheoError.is(error)) throw error;
    const { index } = error.details;
    const at = index === undefined ? `Lines ${lines[0]}–${lines.at(-1)}` : `Line ${lines[index]}`;
    const far = `${counted(appended, "event")} before line ${lines[0]} appended, nothing from there on`;
    throw new RheoError(error.code, `${at} of ${name}: ${error.message.replace(/^Event \d+: /, "")} (${far})`, error.details, {
      cause: error,
    });
  }
};
