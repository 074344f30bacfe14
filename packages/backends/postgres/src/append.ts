import type { AppendAnswer, AppendedEvent, AppendRequest } from "@rheo/core";
import type { Statement, Value } from "./database.ts";

export const APPEND: Statement = { text: "SELECT @.append($1::jsonb, $2::bigint)", writes: true };

/** What `append()` answers: see `append.sql.ts`. */
export interface AppendResult {
  readonly now: number;
  /** High watermarks before, by stream and partition. */
  readonly heads: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly answers: Readonly<Record<string, AppendAnswer>>;
  /** Ids of the streams, by name. */
  readonly streams: Readonly<Record<string, number>>;
  /** Null when nothing was written. */
  readonly transaction: string | null;
}

export const appendValues = (requests: readonly AppendRequest[], nowMs: number | null): Value[] => [toJson(requests), nowMs];

/** The requests for one stream, as they are sent. */
interface Batch {
  readonly stream: string;
  readonly partitions: number;
  readonly indexes: number[];
  readonly counts: number[];
  readonly events: string[];
  /** By partition: how many events, and the largest. */
  readonly written: Map<number, { count: number; largest: number }>;
  expects: boolean;
  timed: boolean;
}

/** Content goes in as it is, so that it is parsed once, by the server. */
const toJson = (requests: readonly AppendRequest[]): string => {
  const batches = new Map<string, Batch>();
  for (const [index, request] of requests.entries()) add(batchOf(batches, request), request, index);
  const parts = [...batches.values()].map(
    ({ stream, partitions, indexes, counts, events, written, expects, timed }) =>
      `{"s":${JSON.stringify(stream)},"n":${partitions},"p":[${[...written.keys()].join(",")}],"b":[${[...written.values()].map(({ largest }) => largest).join(",")}],` +
      `"x":${expects},"t":${timed},"i":[${indexes.join(",")}],"c":[${counts.join(",")}],"e":[${events.join(",")}]}`,
  );
  return `[${parts.join(",")}]`;
};

const batchOf = (batches: Map<string, Batch>, { stream, partitions }: AppendRequest): Batch => {
  const name = `${stream}/${partitions}`;
  const known = batches.get(name);
  if (known !== undefined) return known;
  const batch: Batch = {
    stream,
    partitions,
    indexes: [],
    counts: [],
    events: [],
    written: new Map(),
    expects: false,
    timed: false,
  };
  batches.set(name, batch);
  return batch;
};

const add = (batch: Batch, { events }: AppendRequest, index: number): void => {
  batch.indexes.push(index);
  batch.counts.push(events.length);
  for (const { partition, id, timestampMs, type, key, bytes, expectedSequence, metadata, payload } of events) {
    const written = batch.written.get(partition) ?? { count: 0, largest: 0 };
    batch.written.set(partition, written);
    written.count += 1;
    written.largest = Math.max(written.largest, bytes);
    if (expectedSequence !== null) batch.expects = true;
    if (timestampMs !== null) batch.timed = true;
    batch.events.push(
      `[${partition},${JSON.stringify(id)},${timestampMs},${jsonOf(type)},${jsonOf(key)},${bytes},${expectedSequence},${metadata},${payload},${written.count}]`,
    );
  }
};

const jsonOf = (text: string | null): string => (text === null ? "null" : JSON.stringify(text));

/** One answer per request. Where a stream's requests went in at once, sequences follow from where its partitions stood before. */
export const toAnswers = (requests: readonly AppendRequest[], { now, heads, answers }: AppendResult): AppendAnswer[] => {
  const highs = new Map(
    Object.entries(heads).map(([stream, partitions]) => [
      stream,
      new Map(Object.entries(partitions).map(([partition, high]) => [Number(partition), Number(high)])),
    ]),
  );
  return requests.map(({ stream, events }, index) => {
    const answer = answers[index];
    if (answer !== undefined) return answer;
    const partitions = highs.get(stream) ?? new Map<number, number>();
    const appended = events.map(({ partition, timestampMs }): AppendedEvent => {
      const sequence = (partitions.get(partition) ?? 0) + 1;
      partitions.set(partition, sequence);
      return { sequence, timestampMs: timestampMs ?? now, duplicate: null };
    });
    return { kind: "appended", events: appended };
  });
};

/** Whether a request added anything. */
export const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);
