/** The records of a soak put together by delivery: who was granted it when, and what was then asked and answered about it. */
import type { SettledState, StaleReason } from "@rheo/core";
import type { SoakRecord } from "./record.ts";

/** Between `from` and `to` (µs) the store did it; `to` is Infinity when the answer never came. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface Granted extends Span {
  readonly token: number;
  readonly attempt: number;
  readonly leasedAtMs: number;
  /** As granted; renewals are apart. */
  readonly expiresAtMs: number;
}

export interface Settled extends Span {
  readonly token: number;
  readonly outcome: string;
  readonly delayMs: number;
  /** Wall clock when it was asked. */
  readonly wallMs: number;
  /** `unknown`: the answer never came, or said that nobody knows. */
  readonly result: SettledState | `stale:${StaleReason}` | "unknown";
}

interface Renewed extends Span {
  readonly token: number;
  /** The expiry, or why it was refused. */
  readonly result: number | StaleReason;
}

/** Everything about one delivery. Unsorted. */
export interface Delivery {
  readonly group: string;
  readonly partition: number;
  readonly sequence: number;
  readonly granted: Granted[];
  readonly settled: Settled[];
  readonly renewed: Renewed[];
  readonly handledTokens: number[];
  /** Found out of attempts by a fetch. */
  died: number;
}

/** The records of a whole soak. */
export class History {
  readonly #deliveries = new Map<string, Delivery>();
  readonly #asked = new Map<string, Extract<SoakRecord, { kind: "asked" }>>();
  /** Fetches whose answer never came, by group: what they granted nobody knows. */
  readonly unknownFetches: Map<string, Span[]> = new Map();

  /** Deliveries of a group, in no order. */
  *of(group: string): Generator<Delivery> {
    for (const delivery of this.#deliveries.values()) if (delivery.group === group) yield delivery;
  }

  get size(): number {
    return this.#deliveries.size;
  }

  get(group: string, partition: number, sequence: number): Delivery | undefined {
    return this.#deliveries.get(`${group}/${partition}/${sequence}`);
  }

  /** Takes all records, in any order of files; of one file in the order they were written. */
  static from(records: Iterable<SoakRecord>): History {
    const history = new History();
    for (const record of records) history.#add(record);
    for (const asked of history.#asked.values()) history.#unanswered(asked, Number.POSITIVE_INFINITY);
    return history;
  }

  #add(record: SoakRecord): void {
    switch (record.kind) {
      case "asked":
        this.#asked.set(record.call, record);
        return;
      case "answered":
        return this.#answered(record);
      case "failed": {
        const asked = this.#asked.get(record.call);
        this.#asked.delete(record.call);
        if (asked !== undefined && record.mayBeApplied) this.#unanswered(asked, record.at);
        return;
      }
      case "renewed":
        return this.#renewed(record);
      case "handled":
        this.#delivery(record.group, record.partition, record.sequence).handledTokens.push(record.token);
        return;
      case "appended":
      case "frontier":
        return; // told of elsewhere
      default:
        return record satisfies never;
    }
  }

  #answered({ call, at, settled, grants, died }: Extract<SoakRecord, { kind: "answered" }>): void {
    const asked = this.#asked.get(call);
    if (asked === undefined) throw new Error(`The answer to ${call} has no question: its file is damaged.`);
    this.#asked.delete(call);
    const { group } = asked;
    const span = { from: asked.at, to: at };
    for (const [part, { partition, token, sequences, outcome, delayMs }] of asked.settlements.entries()) {
      for (const [position, sequence] of sequences.entries()) {
        const result = settled[part]?.[position] ?? "unknown";
        this.#delivery(group, partition, sequence).settled.push({
          ...span,
          token,
          outcome,
          delayMs,
          wallMs: asked.wallMs,
          result,
        });
      }
    }
    for (const { partition, sequences, ...grant } of grants)
      for (const sequence of sequences) this.#delivery(group, partition, sequence).granted.push({ ...span, ...grant });
    for (const { partition, sequence } of died) this.#delivery(group, partition, sequence).died += 1;
  }

  #unanswered({ group, at, wallMs, fetches, settlements }: Extract<SoakRecord, { kind: "asked" }>, to: number): void {
    const span = { from: at, to };
    for (const { partition, token, sequences, outcome, delayMs } of settlements)
      for (const sequence of sequences)
        this.#delivery(group, partition, sequence).settled.push({ ...span, token, outcome, delayMs, wallMs, result: "unknown" });
    if (fetches) this.unknownFetches.set(group, [...(this.unknownFetches.get(group) ?? []), span]);
  }

  #renewed({ group, askedAt, at, items }: Extract<SoakRecord, { kind: "renewed" }>): void {
    for (const { partition, token, sequences, expiresAtMs } of items) {
      for (const [position, sequence] of sequences.entries()) {
        const result = expiresAtMs[position] ?? "gone";
        this.#delivery(group, partition, sequence).renewed.push({ from: askedAt, to: at, token, result });
      }
    }
  }

  #delivery(group: string, partition: number, sequence: number): Delivery {
    const place = `${group}/${partition}/${sequence}`;
    const known = this.#deliveries.get(place);
    if (known !== undefined) return known;
    const made: Delivery = { group, partition, sequence, granted: [], settled: [], renewed: [], handledTokens: [], died: 0 };
    this.#deliveries.set(place, made);
    return made;
  }
}
