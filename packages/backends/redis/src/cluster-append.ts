/**
 * Appending on a Cluster: ids are reserved in their slots, events appended in theirs, then the ids made to stand for their places; see
 * `reserve.lua.ts`. What falls on one partition is all or nothing. What falls on several is looked at everywhere before it is written anywhere;
 * if a later part then fails, the call is `outcome_unknown`, and repeating it with the same ids completes it.
 */
import {
  type AppendAnswer,
  type AppendedEvent,
  type AppendRequest,
  type EventRecord,
  type NewEvent,
  RheoError,
} from "@rheo/core";
import { isSameEvent } from "@rheo/core/internal";
import { chunkOf, findStream, usedUp } from "./appending.ts";
import { batchOf } from "./batch.ts";
import { outcomeUnknown } from "./errors.ts";
import { Ids, meaningOf } from "./ids.ts";
import { RESERVED } from "./program.ts";
import { watermarks } from "./read.ts";
import type { Shards } from "./shards.ts";
import type { Stream } from "./streams.ts";

/** How often an append begins anew, because somebody took an id over or the stream was made anew. */
const MAX_TRIES = 20;

export class ClusterAppend {
  readonly #shards: Shards;
  readonly #prefix: string;
  readonly #name: string;
  readonly #random: () => string;

  constructor(shards: Shards, prefix: string, name: string, random: () => string) {
    this.#shards = shards;
    this.#prefix = prefix;
    this.#name = name;
    this.#random = random;
  }

  /** One answer per request, in order. @throws unavailable, outcome_unknown */
  async run(requests: readonly AppendRequest[]): Promise<AppendAnswer[]> {
    const answers: AppendAnswer[] = [];
    for (let tries = 0; answers.length < requests.length; ) {
      const stream = await findStream(this.#shards, this.#name);
      const left = requests.slice(answers.length);
      if (stream === null) return [...answers, ...left.map((): AppendAnswer => ({ kind: "stream_not_found" }))];
      if (left[0]?.partitions !== stream.partitions) {
        answers.push({ kind: "rerouted", partitions: stream.partitions });
        continue;
      }
      const round = new Round(this.#shards, this.#prefix, stream, roundOf(left, stream.partitions), this.#random());
      const found = await round.run();
      if (found !== null) answers.push(...found);
      else if (++tries >= MAX_TRIES) throw crowded(this.#name);
    }
    return answers;
  }
}

/** Requests that can be worked on together: ids that are all different, and none of them depends on where another leaves a partition. */
const roundOf = (requests: readonly AppendRequest[], partitions: number): AppendRequest[] => {
  const round: AppendRequest[] = [];
  const ids = new Set<string>();
  for (const request of chunkOf(requests, partitions)) {
    const repeats = request.events.some(({ id }) => ids.has(id));
    if (round.length > 0 && (isAlone(request) || repeats)) break;
    round.push(request);
    if (isAlone(request)) break;
    for (const { id } of request.events) ids.add(id);
  }
  return round;
};

/** Whether what is answered depends on where partitions stand: a condition, or an id that is there twice. */
const isAlone = ({ events }: AppendRequest): boolean =>
  events.some(({ expectedSequence }) => expectedSequence !== null) || new Set(events.map(({ id }) => id)).size < events.length;

/** A new event of a round, and where it was asked for. */
interface Fresh {
  readonly event: NewEvent;
  readonly request: number;
  readonly index: number;
}

type Refusal = Extract<AppendAnswer, { kind: "id_conflict" | "sequence_conflict" }>;

/** What a script did about the events of one partition. */
interface Written {
  readonly partition: number;
  readonly fresh: readonly Fresh[];
  /** The script's answer, or why there is none. */
  readonly answer: readonly unknown[];
  readonly error: unknown;
}

class Round {
  readonly #shards: Shards;
  readonly #stream: Stream;
  readonly #requests: readonly AppendRequest[];
  readonly #ids: Ids;
  readonly #append: string;

  /** `append` names it among all appends. */
  constructor(shards: Shards, prefix: string, stream: Stream, requests: readonly AppendRequest[], append: string) {
    this.#shards = shards;
    this.#stream = stream;
    this.#requests = requests;
    this.#append = append;
    this.#ids = new Ids(shards, prefix, stream);
  }

  /** Null: to be tried again. */
  async run(): Promise<AppendAnswer[] | null> {
    const firsts = this.#firsts();
    const wanted = firsts.map(({ event }) => ({ id: event.id, as: this.#reservationOf(event) }));
    const reserved = await this.#ids.reserve(wanted);
    if (reserved === null) return this.#forget();
    const { stored, atMs } = reserved;
    const refusals = await this.#refusals(stored, this.#shards.now === "" ? atMs : Number(this.#shards.now));
    const fresh = firsts.filter(({ event, request }) => !stored.has(event.id) && refusals[request] === undefined);
    await this.#abandon(firsts.filter((one) => !stored.has(one.event.id) && !fresh.includes(one)));
    const written = await this.#write(fresh, atMs);
    const done = written.filter(({ answer }) => answer[0] === "ok");
    await this.#finish(done);
    const failed = written.filter(({ answer }) => answer[0] !== "ok");
    if (failed.length === 0) return this.#answers(stored, refusals, done);
    return this.#failed(failed, done.length > 0);
  }

  /** The first event of each id. */
  #firsts(): Fresh[] {
    const seen = new Set<string>();
    return this.#requests.flatMap(({ events }, request) =>
      events.flatMap((event, index) => {
        if (seen.has(event.id)) return [];
        seen.add(event.id);
        return [{ event, request, index }];
      }),
    );
  }

  #nameIn(partition: number): string {
    return `${this.#append}.${partition}`;
  }

  #reservationOf({ partition }: NewEvent): string {
    return `${partition}?${this.#nameIn(partition)}`;
  }

  /** By request: why nothing of it is to be written. */
  async #refusals(stored: ReadonlyMap<string, EventRecord>, nowMs: number): Promise<readonly (Refusal | undefined)[]> {
    const marks = this.#requests.some(isAlone) ? await watermarks(this.#shards, this.#stream.name) : [];
    return this.#requests.map(({ events }) => {
      const highs = marks.map(({ highWatermark }) => highWatermark);
      const known = new Map<string, EventRecord>();
      for (const [index, event] of events.entries()) {
        const found = stored.get(event.id) ?? known.get(event.id);
        if (found !== undefined) {
          if (!isSameEvent(found, event)) return { kind: "id_conflict", index, stored: found };
          continue;
        }
        const high = highs[event.partition] ?? 0;
        if (event.expectedSequence !== null && event.expectedSequence !== high)
          return { kind: "sequence_conflict", index, highWatermark: high };
        highs[event.partition] = high + 1;
        known.set(event.id, recordOf(event, high + 1, event.timestampMs ?? nowMs));
      }
      return undefined;
    });
  }

  async #write(fresh: readonly Fresh[], atMs: number): Promise<Written[]> {
    const byPartition = new Map<number, Fresh[]>();
    for (const one of fresh) byPartition.set(one.event.partition, [...(byPartition.get(one.event.partition) ?? []), one]);
    return Promise.all(
      [...byPartition].map(async ([partition, mine]): Promise<Written> => {
        const events = mine.map(({ event }) => event);
        const { largest, packed } = batchOf([events.length], events, 1);
        const args = [this.#stream.nonce, this.#shards.now, largest, packed, this.#nameIn(partition), atMs];
        try {
          const answer = await this.#shards.connection.run(RESERVED.appendAt, [this.#stream.heads[partition] ?? ""], args);
          return { partition, fresh: mine, answer: answer as unknown[], error: null }; // our own script answers a list
        } catch (error) {
          return { partition, fresh: mine, answer: ["error"], error };
        }
      }),
    );
  }

  /** Ids stand for their places. What fails here is made up for by whoever meets the reservations. */
  async #finish(done: readonly Written[]): Promise<void> {
    const changes = done.flatMap(({ partition, fresh, answer }) =>
      fresh.map(({ event }, at) => {
        const after = meaningOf({ partition, sequence: Number(answer[2]) + 1 + at });
        return { id: event.id, before: this.#reservationOf(event), after };
      }),
    );
    if (changes.length === 0) return;
    const { connection } = this.#shards;
    await this.#ids
      .put(changes)
      .then((put) =>
        put === null || put.refused.size > 0
          ? []
          : Promise.all(
              done.map(({ partition }) =>
                connection.run(RESERVED.release, [this.#stream.heads[partition] ?? ""], [this.#nameIn(partition)]),
              ),
            ),
      )
      .catch(() => undefined);
  }

  /** Gives reservations up of what is not written. */
  async #abandon(fresh: readonly Fresh[]): Promise<void> {
    if (fresh.length === 0) return;
    const changes = fresh.map(({ event }) => ({ id: event.id, before: this.#reservationOf(event), after: "" }));
    await this.#ids.put(changes).catch(() => undefined);
  }

  /** @throws unavailable, outcome_unknown */
  async #failed(failed: readonly Written[], isPart: boolean): Promise<AppendAnswer[] | null> {
    const lost = failed.find(({ error }) => RheoError.is(error, "outcome_unknown"))?.error;
    if (lost !== undefined) throw lost;
    await this.#abandon(failed.flatMap(({ fresh }) => fresh));
    const refused = failed.find(({ error }) => error !== null)?.error;
    if (refused !== undefined) throw isPart ? outcomeUnknown(refused) : refused;
    const [first] = failed;
    const [state, at, high] = first?.answer ?? [];
    if (state === "s" || state === "u") {
      if (state === "u" && !isPart) throw usedUp(this.#stream.name, first?.partition ?? 0);
      if (isPart) throw outcomeUnknown(new Error(`partition ${first?.partition} was appended to by somebody else meanwhile`));
      // such a request is in a round of its own
      return [{ kind: "sequence_conflict", index: first?.fresh[Number(at)]?.index ?? 0, highWatermark: Number(high) }];
    }
    if (state === "stream" && (await this.#isStill()))
      await this.#shards.begin(
        this.#stream,
        failed.map(({ partition }) => partition),
      );
    return this.#forget();
  }

  /** Whether the stream is there, and the same: then somebody did not get to make all of its partitions. */
  async #isStill(): Promise<boolean> {
    const found = await this.#shards.streams.look(this.#stream.name);
    return found !== null && !found.isGoing && found.nonce === this.#stream.nonce;
  }

  #forget(): null {
    return this.#shards.streams.forget(this.#stream.name);
  }

  #answers(
    stored: ReadonlyMap<string, EventRecord>,
    refusals: readonly (Refusal | undefined)[],
    done: readonly Written[],
  ): AppendAnswer[] {
    const known = new Map<string, EventRecord>(stored);
    const fresh = new Set<string>();
    for (const { fresh: mine, answer } of done) {
      for (const [at, { event, request, index }] of mine.entries()) {
        known.set(event.id, recordOf(event, Number(answer[2]) + 1 + at, event.timestampMs ?? Number(answer[1])));
        fresh.add(`${request}/${index}`);
      }
    }
    return this.#requests.map(({ events }, request): AppendAnswer => {
      const refusal = refusals[request];
      if (refusal !== undefined) return refusal;
      const appended = events.map((event, index) => toAppended(known.get(event.id), fresh.has(`${request}/${index}`)));
      return { kind: "appended", events: appended };
    });
  }
}

const toAppended = (record: EventRecord | undefined, isFresh: boolean): AppendedEvent => {
  if (record === undefined) throw new Error("An event was neither stored nor appended.");
  return { sequence: record.sequence, timestampMs: record.timestampMs, duplicate: isFresh ? null : record };
};

const recordOf = (event: NewEvent, sequence: number, timestampMs: number): EventRecord => {
  const { id, partition, type, key, metadata, payload } = event;
  return { id, partition, sequence, timestampMs, type, key, metadata, payload };
};

const crowded = (stream: string): RheoError =>
  new RheoError(
    "unavailable",
    `Redis: the append to "${stream}" was overtaken ${MAX_TRIES} times by others with the same ids. Nothing was written.`,
    { stream },
  );
