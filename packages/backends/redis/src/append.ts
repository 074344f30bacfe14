/** Appending on a single server: each chunk of requests for one stream is one script (L1, L4–L6). */
import type { AppendAnswer, AppendedEvent, AppendRequest } from "@rheo/core";
import { isSameEvent } from "@rheo/core/internal";
import { chunkOf, findStream, usedUp } from "./appending.ts";
import { batchOf } from "./batch.ts";
import { ClusterAppend } from "./cluster-append.ts";
import type { Argument } from "./connection.ts";
import { toRecord } from "./lines.ts";
import { LOGS } from "./program.ts";
import type { Shards } from "./shards.ts";
import type { Stream } from "./streams.ts";

/** What an append tells other processes itself. */
export interface News {
  readonly channel: string;
  readonly message: string;
}

export interface AppendContext {
  readonly shards: Shards;
  readonly prefix: string;
  /** 12 hex digits. */
  readonly random: () => string;
  /** On a single server, of requests of one stream. */
  readonly news: News | null;
  /** On a single server, whenever events of the stream are on their way: what is sent from then on finds them. */
  readonly onSent: (stream: string) => void;
}

/** One answer per request; requests of one stream in order. */
export const append = async (context: AppendContext, requests: readonly AppendRequest[]): Promise<AppendAnswer[]> => {
  const { shards, prefix, random } = context;
  const answers = new Array<AppendAnswer>(requests.length);
  const names = new Set(requests.map(({ stream }) => stream));
  await Promise.all(
    [...names].map(async (name) => {
      const places = requests.flatMap((request, place) => (request.stream === name ? [place] : []));
      const mine = places.map((place) => requests[place] as AppendRequest); // places of requests
      const mineAnswered = shards.isCluster
        ? await new ClusterAppend(shards, prefix, name, random).run(mine)
        : await appendTo(context, name, mine);
      for (const [index, answer] of mineAnswered.entries()) answers[places[index] ?? 0] = answer;
    }),
  );
  return answers;
};

const appendTo = async (
  { shards, news, onSent }: AppendContext,
  name: string,
  requests: readonly AppendRequest[],
): Promise<AppendAnswer[]> => {
  const answers: AppendAnswer[] = [];
  /** Places in the next request of events that were found to be what is stored. */
  let compared: number[] = [];
  while (answers.length < requests.length) {
    const stream = await findStream(shards, name);
    const left = requests.slice(answers.length);
    if (stream === null) return [...answers, ...left.map((): AppendAnswer => ({ kind: "stream_not_found" }))];
    const [request] = left;
    if (request !== undefined && request.partitions !== stream.partitions) {
      answers.push({ kind: "rerouted", partitions: stream.partitions });
      continue;
    }
    const chunk = chunkOf(left, stream.partitions);
    const args = [...argumentsOf(shards, stream, chunk, compared), news?.channel ?? "", news?.message ?? ""];
    const reply = await shards.connection.run(LOGS.append, [stream.heads[0] ?? ""], args, () => onSent(name));
    const [state, now, heads, answered] = reply as Reply; // our own script wrote it
    if (state !== "ok") {
      shards.streams.forget(name);
      continue;
    }
    const highs = toHighs(heads);
    for (const [index, result] of answered.entries()) {
      const of = chunk[index];
      if (of === undefined) break;
      const answer = toAnswer(of, result, highs, Number(now));
      if (answer === null) compared = [...compared, indexOf(result)];
      else {
        answers.push(answer);
        compared = [];
      }
    }
  }
  return answers;
};

/** See `append.lua.ts`. */
type Reply = readonly [state: string, now: string, heads: readonly number[], answers: readonly (0 | readonly unknown[])[]];

const argumentsOf = (
  shards: Shards,
  { nonce, partitions }: Stream,
  requests: readonly AppendRequest[],
  compared: readonly number[],
): Argument[] => {
  const counts = requests.map(({ events }) => events.length);
  const events = requests.length === 1 ? (requests[0]?.events ?? []) : requests.flatMap((request) => request.events);
  const { largest, packed, isPlain } = batchOf(counts, events, partitions);
  return [nonce, shards.now, largest, packed, `,${compared.join(",")},`, Number(isPlain)];
};

const toHighs = (heads: readonly number[]): Map<number, number> => {
  const highs = new Map<number, number>();
  for (let at = 0; at < heads.length; at += 2) highs.set(heads[at] ?? 0, heads[at + 1] ?? 0);
  return highs;
};

/** Null: whether an event is the stored one is yet to be found. Where all is new, sequences follow from where partitions stood before. */
const toAnswer = (
  { stream, events }: AppendRequest,
  result: 0 | readonly unknown[],
  highs: Map<number, number>,
  nowMs: number,
): AppendAnswer | null => {
  if (result === 0) {
    const appended = events.map(({ partition, timestampMs }): AppendedEvent => {
      const sequence = (highs.get(partition) ?? 0) + 1;
      highs.set(partition, sequence);
      return { sequence, timestampMs: timestampMs ?? nowMs, duplicate: null };
    });
    return { kind: "appended", events: appended };
  }
  const [kind, ...rest] = result;
  if (kind === "s") return { kind: "sequence_conflict", index: Number(rest[0]), highWatermark: Number(rest[1]) };
  if (kind === "u") throw usedUp(stream, Number(rest[0]));
  if (kind === "x") {
    const index = Number(rest[0]);
    const stored = toRecord(String(rest[2]), Number(rest[1]));
    const event = events[index];
    return event !== undefined && isSameEvent(stored, event) ? null : { kind: "id_conflict", index, stored };
  }
  return {
    kind: "appended",
    events: events.map(({ timestampMs }, index): AppendedEvent => {
      const partition = Number(rest[index * 3]);
      const line = String(rest[index * 3 + 2]);
      const duplicate = line === "" ? null : toRecord(line, partition);
      return {
        sequence: Number(rest[index * 3 + 1]),
        timestampMs: duplicate?.timestampMs ?? timestampMs ?? nowMs,
        duplicate,
      };
    }),
  };
};

/** Which event of its request a refusal is about. */
const indexOf = (result: 0 | readonly unknown[]): number => (result === 0 ? 0 : Number(result[1]));
