/** Ids of events: found; and, on a Cluster, reserved and made to stand for places; see `reserve.lua.ts`. */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventRecord } from "@rheo/core";
import { idsKey, shardOf } from "./keys.ts";
import { toRecord } from "./lines.ts";
import { LOGS, RESERVED } from "./program.ts";
import type { Shards } from "./shards.ts";
import type { Stream } from "./streams.ts";

export interface Place {
  readonly partition: number;
  readonly sequence: number;
}

/** What an id stands for; empty: nothing. */
type Meaning = string;

export interface Change {
  readonly id: string;
  readonly before: Meaning;
  readonly after: Meaning;
}

/** What came of changes. */
interface Put {
  /** The earliest time of a server, in ms. */
  readonly atMs: number;
  /** Ids that stood for something else, and what that is. */
  readonly refused: ReadonlyMap<string, Meaning>;
}

/** Whoever reserved an id has this long to append it before somebody else takes it over, in ms. */
const PATIENCE_MS = 1_000;
/** Ids that one script looks at. */
const IDS_AT_ONCE = 1_000;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 100;

/** `partition:sequence`. */
export const meaningOf = ({ partition, sequence }: Place): Meaning => `${partition}:${sequence}`;

const toPlace = (meaning: Meaning): Place | null => {
  const [, partition, sequence] = /^(\d+):(\d+)$/.exec(meaning) ?? [];
  return partition === undefined ? null : { partition: Number(partition), sequence: Number(sequence) };
};

/** `partition?name`. */
interface Reservation {
  readonly partition: number;
  readonly name: string;
}

const toReservation = (meaning: Meaning): Reservation | null => {
  const [, partition, name] = /^(\d+)\?(.+)$/.exec(meaning) ?? [];
  return name === undefined ? null : { partition: Number(partition), name };
};

export class Ids {
  readonly #shards: Shards;
  readonly #prefix: string;
  readonly #stream: Stream;

  constructor(shards: Shards, prefix: string, stream: Stream) {
    this.#shards = shards;
    this.#prefix = prefix;
    this.#stream = stream;
  }

  /** Changes each id that stands for what it is thought to. Null: the stream is another by now. */
  async put(changes: readonly Change[]): Promise<Put | null> {
    const byShard = this.#byShard(changes, ({ id }) => id);
    const parts = [...byShard].flatMap(([shard, mine]) =>
      Array.from({ length: Math.ceil(mine.length / IDS_AT_ONCE) }, (_, part) => ({
        shard,
        mine: mine.slice(part * IDS_AT_ONCE, (part + 1) * IDS_AT_ONCE),
      })),
    );
    const puts = parts.map(async ({ shard, mine }) => {
      const args = mine.flatMap(({ id, before, after }) => [id, before, after]);
      const key = idsKey(this.#prefix, this.#stream.name, shard);
      const answer = await this.#shards.connection.run(RESERVED.putIds, [key], [this.#stream.nonce, ...args]);
      return { mine, answer };
    });
    const refused = new Map<string, Meaning>();
    let atMs = Number.MAX_SAFE_INTEGER;
    for (const { mine, answer } of await Promise.all(puts)) {
      const [state, time, ...found] = answer as readonly string[]; // our own script answers texts
      if (state !== "ok") return null;
      atMs = Math.min(atMs, Number(time));
      for (const [index, { id }] of mine.entries()) {
        const meaning = found[index] ?? "";
        if (meaning !== "") refused.set(id, meaning === "-" ? "" : meaning);
      }
    }
    return { atMs, refused };
  }

  /**
   * Reserves ids; those that are stored already, with their events. Waits for whoever has reserved one, and takes it over from one who does
   * not append it. Null: the stream is another by now.
   */
  async reserve(
    wanted: readonly { readonly id: string; readonly as: Meaning }[],
  ): Promise<{ readonly stored: ReadonlyMap<string, EventRecord>; readonly atMs: number } | null> {
    const stored = new Map<string, EventRecord>();
    const startMs = performance.now();
    const meanings = new Map(wanted.map(({ id, as }) => [id, as]));
    let atMs = Number.MAX_SAFE_INTEGER;
    let pauseMs = FIRST_PAUSE_MS;
    for (let changes = wanted.map(({ id, as }): Change => ({ id, before: "", after: as })); changes.length > 0; ) {
      const put = await this.put(changes);
      if (put === null) return null;
      atMs = Math.min(atMs, put.atMs);
      const isPatient = performance.now() - startMs < PATIENCE_MS;
      const { found, waiting, free } = await this.#explain(put.refused, isPatient);
      for (const [id, event] of found) stored.set(id, event);
      const again = [...waiting.map((id) => ({ id, before: "" })), ...free];
      changes = again.map(({ id, before }) => ({ id, before, after: meanings.get(id) ?? "" }));
      if (waiting.length === 0) continue;
      await sleep(pauseMs);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    }
    return { stored, atMs };
  }

  /** Where events are that these ids stand for; those of appends under way that are there, too. */
  async find(ids: readonly string[]): Promise<Map<string, Place>> {
    const places = new Map<string, Place>();
    const reserved: [string, Reservation][] = [];
    await Promise.all(
      [...this.#byShard([...new Set(ids)], (id) => id)].map(async ([shard, mine]) => {
        const key = idsKey(this.#prefix, this.#stream.name, shard);
        const found = await this.#shards.connection.call("hmget", key, ...mine);
        for (const [index, meaning] of (found as (string | null)[]).entries()) {
          const id = mine[index] ?? "";
          const place = toPlace(meaning ?? "");
          const reservation = toReservation(meaning ?? "");
          if (place !== null) places.set(id, place);
          if (reservation !== null) reserved.push([id, reservation]);
        }
      }),
    );
    for (const [id, reservation] of reserved) {
      const { sequences } = await this.#resolve(reservation, false);
      const sequence = sequences.get(id);
      if (sequence !== undefined) places.set(id, { partition: reservation.partition, sequence });
    }
    return places;
  }

  /**
   * What ids that were refused stand for: stored events; appends under way, to wait for; or nothing any more, with what is to be replaced.
   */
  async #explain(
    refused: ReadonlyMap<string, Meaning>,
    isPatient: boolean,
  ): Promise<{ found: Map<string, EventRecord>; waiting: string[]; free: { id: string; before: Meaning }[] }> {
    const waiting: string[] = [];
    const free: { id: string; before: Meaning }[] = [];
    const places = new Map<string, Place>();
    const final: Change[] = [];
    for (const [id, meaning] of refused) {
      const place = toPlace(meaning);
      const reservation = toReservation(meaning);
      if (place !== null) places.set(id, place);
      else if (reservation === null) free.push({ id, before: meaning });
      else {
        const { state, sequences } = await this.#resolve(reservation, !isPatient);
        const sequence = sequences.get(id);
        if (sequence !== undefined) {
          const found = { partition: reservation.partition, sequence };
          places.set(id, found);
          final.push({ id, before: meaning, after: meaningOf(found) });
        } else if (state === "none") waiting.push(id);
        else free.push({ id, before: meaning });
      }
    }
    if (final.length > 0) await this.put(final);
    const found = await this.read(places);
    for (const [id, place] of places) if (!found.has(id)) free.push({ id, before: meaningOf(place) }); // trimmed since
    return { found, waiting, free };
  }

  /** The events at these places that are retained, by id. */
  async read(places: ReadonlyMap<string, Place>): Promise<Map<string, EventRecord>> {
    const byPartition = new Map<number, Set<number>>();
    for (const { partition, sequence } of places.values())
      byPartition.set(partition, (byPartition.get(partition) ?? new Set()).add(sequence));
    const events = new Map<string, EventRecord>();
    await Promise.all(
      [...byPartition].map(async ([partition, sequences]) => {
        const wanted = [...sequences].sort((a, b) => a - b);
        const { answer } = await this.#shards.run(LOGS.readAt, this.#stream, [partition], "", wanted);
        if (answer[0] !== "ok") return;
        for (const line of answer.slice(1)) {
          const event = toRecord(String(line), partition);
          if (places.has(event.id)) events.set(event.id, event);
        }
      }),
    );
    return events;
  }

  /** What became of an append; `isFinal`: nothing will become of it from now on. */
  async #resolve(
    { partition, name }: Reservation,
    isFinal: boolean,
  ): Promise<{ state: string; sequences: ReadonlyMap<string, number> }> {
    const script = isFinal ? RESERVED.resolve : RESERVED.look;
    const head = this.#stream.heads[partition] ?? "";
    const answer = await this.#shards.connection.run(script, [head], [this.#stream.nonce, name, isFinal ? 1 : 0]);
    const [state, ...rest] = answer as unknown[]; // our own script answers a list
    const sequences = new Map<string, number>();
    for (let at = 0; at < rest.length; at += 2) sequences.set(String(rest[at + 1]), Number(rest[at]));
    return { state: String(state), sequences };
  }

  #byShard<Item>(items: readonly Item[], idOf: (item: Item) => string): Map<number, Item[]> {
    const byShard = new Map<number, Item[]>();
    for (const item of items) {
      const shard = shardOf(idOf(item), this.#stream.partitions);
      const known = byShard.get(shard);
      if (known === undefined) byShard.set(shard, [item]);
      else known.push(item);
    }
    return byShard;
  }
}
