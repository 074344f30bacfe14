/** Events of a partition that were loaded, as the arithmetic asks for them. */
import type { EventRecord } from "@rheo/core";
import { type EventHeader, hasBit, type RangeLease } from "@rheo/core/internal";
import { Missing } from "./missing.ts";
import type { PartitionRecords } from "./partition-records.ts";

/** Events above `after`, in order, at most `limit`, cut before they exceed `maxBytes` but at least one. */
export const events = (part: PartitionRecords, after: number, limit: number, maxBytes: number): readonly EventRecord[] => {
  if (part.matching !== null) return matchingAfter(part.matching, after, limit);
  const { firstSequence, highWatermark, partition } = part.state;
  const found: EventRecord[] = [];
  let bytes = 0;
  for (let sequence = Math.max(after + 1, firstSequence); sequence <= highWatermark && found.length < limit; sequence++) {
    const event = part.events.get(sequence);
    if (event === undefined) {
      const left = { limit: limit - found.length, maxBytes: Math.max(0, maxBytes - bytes) };
      throw new Missing({ kind: "events", partition, after: sequence - 1, ...left });
    }
    if (event === null) continue;
    bytes += event.bytes ?? 0;
    if (bytes > maxBytes && found.length > 0) break;
    found.push(event);
  }
  return found;
};

const matchingAfter = (matching: readonly EventRecord[], after: number, limit: number): readonly EventRecord[] => {
  let low = 0;
  for (let high = matching.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((matching[middle]?.sequence ?? 0) > after) high = middle;
    else low = middle + 1;
  }
  return matching.slice(low, low + limit);
};

/** The events of these rising sequences that are retained, cut before they exceed `maxBytes` but at least one. */
export const eventsAt = (part: PartitionRecords, sequences: readonly number[], maxBytes: number): readonly EventRecord[] => {
  const found: EventRecord[] = [];
  let bytes = 0;
  for (const [index, sequence] of sequences.entries()) {
    const event = part.events.get(sequence);
    if (event === undefined) throw new Missing(needOf(part, sequences.slice(index), maxBytes - bytes));
    if (event === null) continue;
    bytes += event.bytes ?? 0;
    if (bytes > maxBytes && found.length > 0) break;
    found.push(event);
  }
  return found;
};

/** Events that are loaded along with one that is asked for by itself, and their bytes. */
const AHEAD = 100;
const AHEAD_BYTES = 1_048_576;

/** Dead letters are looked at one by one, in order: those that follow are loaded along. */
const needOf = (part: PartitionRecords, sequences: readonly number[], maxBytes: number): Missing["need"] => {
  const { partition } = part.state;
  const [sequence] = sequences;
  if (sequences.length > 1 || sequence === undefined) return { kind: "eventsAt", partition, sequences, maxBytes };
  const followers = [...part.deadLetters.current()]
    .map((letter) => letter.sequence)
    .filter((other) => other > sequence && !part.events.has(other))
    .sort((a, b) => a - b)
    .slice(0, AHEAD);
  return { kind: "eventsAt", partition, sequences: [sequence, ...followers], maxBytes: AHEAD_BYTES };
};

/** The same without their content. Those of all leases and of all dead letters are loaded along: they are asked for next. */
export const headersAt = (part: PartitionRecords, sequences: readonly number[]): readonly EventHeader[] => {
  const headerOf = (sequence: number): EventHeader | null | undefined => part.events.get(sequence) ?? part.headers.get(sequence);
  if (sequences.some((sequence) => headerOf(sequence) === undefined)) {
    const leased = part.leases.flatMap(openSequences);
    const dead = [...part.deadLetters.current()].map((letter) => letter.sequence);
    const wanted = new Set([...sequences, ...leased, ...dead].filter((sequence) => headerOf(sequence) === undefined));
    throw new Missing({ kind: "headersAt", partition: part.state.partition, sequences: [...wanted].sort((a, b) => a - b) });
  }
  return sequences.flatMap((sequence) => headerOf(sequence) ?? []);
};

const openSequences = ({ first, last, closed }: RangeLease): number[] => {
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return closed === null ? all : all.filter((sequence) => !hasBit(closed, sequence - first));
};
