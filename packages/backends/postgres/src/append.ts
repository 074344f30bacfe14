import type { AppendAnswer, AppendedEvent, AppendRequest, NewEvent } from "@rheo/core";
import type { Statement, Value } from "./database.ts";

/** Between texts of JSON, none of which can hold it (RFC 7464). */
const SEPARATOR = "\u001e";

/** See `append.sql.ts`. What is JSON goes as one text: as elements of an array their quotes would be escaped once more. */
export const APPEND: Statement = {
  text:
    "SELECT @.append($1::text[], $2::integer[], $3::boolean[], $4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::integer[], $9::integer[], " +
    "$10::integer[], $11::integer[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], string_to_array($17::text, E'\\x1e'), string_to_array($18::text, E'\\x1e'), $19::bigint, $20::text, $21::text)",
  writes: true,
  often: true,
  inOrder: true,
};

/** What `append()` answers. */
export interface AppendResult {
  readonly now: number;
  /** Slots written to at once, and where their partitions stood before. */
  readonly slots: readonly number[] | null;
  readonly highs: readonly number[] | null;
  readonly answers: Readonly<Record<string, AppendAnswer>>;
  /** Ids of the streams, by name. */
  readonly streams: Readonly<Record<string, number>> | null;
  /** Null when nothing was written. */
  readonly transaction: string | null;
}

/** A partition written to. */
interface Slot {
  /** From 1. */
  readonly number: number;
  /** Its stream, from 1. */
  readonly owner: number;
  readonly partition: number;
  count: number;
  largest: number;
}

interface Owner {
  /** From 1. */
  readonly number: number;
  readonly name: string;
  /** As the events were routed. */
  readonly partitions: number;
  readonly slots: Map<number, Slot>;
  expects: boolean;
}

/** Requests as the columns of `append()`. */
export class Columns {
  readonly #owners = new Map<string, Owner>();
  readonly #slots: Slot[] = [];
  /** The owner of each request, and how many events it has. */
  readonly #askers: number[] = [];
  readonly #sizes: number[] = [];
  /** Of each event. */
  readonly #slotNumbers: number[] = [];
  readonly #places: number[] = [];
  readonly #bytes: number[] = [];
  readonly #ids: string[] = [];
  readonly #types: (string | null)[] = [];
  readonly #keys: (string | null)[] = [];
  readonly #times: (number | null)[] = [];
  readonly #expected: (number | null)[] = [];
  readonly #metadata: string[] = [];
  readonly #payloads: string[] = [];

  constructor(requests: readonly AppendRequest[]) {
    for (const request of requests) {
      const owner = this.#ownerOf(request);
      this.#askers.push(owner.number);
      this.#sizes.push(request.events.length);
      for (const event of request.events) this.#add(owner, event);
    }
  }

  /** `notify`: the channel on which others are told by the same commit, and in whose name; null: they are not. */
  values(nowMs: number | null, notify: { readonly channel: string; readonly sender: string } | null): Value[] {
    const owners = [...this.#owners.values()];
    return [
      texts(owners.map(({ name }) => name)),
      array(owners.map(({ partitions }) => partitions)),
      array(owners.map(({ expects }) => expects)),
      array(this.#slots.map(({ owner }) => owner)),
      array(this.#slots.map(({ partition }) => partition)),
      array(this.#slots.map(({ largest }) => largest)),
      array(this.#askers),
      array(this.#sizes),
      array(this.#slotNumbers),
      array(this.#places),
      array(this.#bytes),
      texts(this.#ids),
      texts(this.#types),
      texts(this.#keys),
      array(this.#times),
      array(this.#expected),
      this.#metadata.every((metadata) => metadata === "{}") ? null : this.#metadata.join(SEPARATOR),
      this.#payloads.join(SEPARATOR),
      nowMs,
      notify?.channel ?? null,
      notify?.sender ?? null,
    ];
  }

  /** The answers, one per request. Where a stream's requests went in at once, sequences follow from where its partitions stood before. */
  answers({ now, slots, highs, answers }: AppendResult): AppendAnswer[] {
    const high = new Map(slots?.map((slot, index) => [slot, highs?.[index] ?? 0]));
    let next = 0;
    return this.#sizes.map((size, index) => {
      const from = next;
      next += size;
      const answer = answers[index];
      if (answer !== undefined) return answer;
      const appended = Array.from(
        { length: size },
        (_, at): AppendedEvent => ({
          sequence: (high.get(this.#slotNumbers[from + at] ?? 0) ?? 0) + (this.#places[from + at] ?? 0),
          timestampMs: this.#times[from + at] ?? now,
          duplicate: null,
        }),
      );
      return { kind: "appended", events: appended };
    });
  }

  #ownerOf({ stream: name, partitions }: AppendRequest): Owner {
    const key = `${name}/${partitions}`;
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const owner: Owner = { number: this.#owners.size + 1, name, partitions, slots: new Map(), expects: false };
    this.#owners.set(key, owner);
    return owner;
  }

  #add(owner: Owner, event: NewEvent): void {
    const slot = owner.slots.get(event.partition) ?? this.#newSlot(owner, event.partition);
    slot.count += 1;
    slot.largest = Math.max(slot.largest, event.bytes);
    if (event.expectedSequence !== null) owner.expects = true;
    this.#slotNumbers.push(slot.number);
    this.#places.push(slot.count);
    this.#bytes.push(event.bytes);
    this.#ids.push(event.id);
    this.#types.push(event.type);
    this.#keys.push(event.key);
    this.#times.push(event.timestampMs);
    this.#expected.push(event.expectedSequence);
    this.#metadata.push(event.metadata);
    this.#payloads.push(event.payload);
  }

  #newSlot(owner: Owner, partition: number): Slot {
    const slot: Slot = { number: this.#slots.length + 1, owner: owner.number, partition, count: 0, largest: 0 };
    this.#slots.push(slot);
    owner.slots.set(partition, slot);
    return slot;
  }
}

/** An array as PostgreSQL reads it; null when it holds nothing but nulls. */
const array = (values: readonly (number | boolean | null)[]): string | null => {
  if (values.every((value) => value === null)) return null;
  return `{${(values.includes(null) ? values.map((value) => value ?? "NULL") : values).join(",")}}`;
};

const texts = (values: readonly (string | null)[]): string | null =>
  values.every((value) => value === null)
    ? null
    : `{${values.map((value) => (value === null ? "NULL" : quoted(value))).join(",")}}`;

const quoted = (text: string): string =>
  text.includes('"') || text.includes("\\") ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : `"${text}"`;

/** Whether a request added anything. */
export const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);
