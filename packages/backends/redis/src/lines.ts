/**
 * Events as scripts take and answer them. A header is id, at (ms), type, key and metadata, apart by U+0000, which none of them can contain; type
 * and key have `=` before them, or are empty where there is none. A line is `<sequence>-0`, header and payload, apart by U+0000.
 */
import type { EventRecord, NewEvent } from "@rheo/core";

const APART = "\u0000";
const HEADER_PARTS = 5;

/** What a header has after id and time. */
export const tailOf = ({ type, key, metadata }: Pick<NewEvent, "type" | "key" | "metadata">): string =>
  `${type === null ? "" : `=${type}`}${APART}${key === null ? "" : `=${key}`}${APART}${metadata}`;

export const toRecord = (line: string, partition: number): EventRecord => {
  const start = line.indexOf(APART) + 1;
  const parts = line.slice(start).split(APART);
  const payload = parts.length > HEADER_PARTS ? parts.splice(HEADER_PARTS).join(APART) : (parts.pop() ?? "");
  return recordOf(parts, payload, partition, Number.parseInt(line, 10));
};

export const toRecordOf = (header: string, payload: string, partition: number, sequence: number): EventRecord =>
  recordOf(header.split(APART), payload, partition, sequence);

const recordOf = (parts: readonly string[], payload: string, partition: number, sequence: number): EventRecord => {
  const [id = "", at = "0", type = "", key = "", metadata = "{}"] = parts;
  return {
    id,
    partition,
    sequence,
    timestampMs: Number(at),
    type: optional(type),
    key: optional(key),
    metadata,
    // what no append wrote is no JSON, and shows what there is: its delivery fails, and that of no other
    payload:
      parts.length === HEADER_PARTS ? payload : `damaged entry: ${[...parts, payload].filter((part) => part !== "").join(" ")}`,
  };
};

/** A text that may not be there: then it is empty, else it begins with `=`. */
export const optional = (text: string): string | null => (text === "" ? null : text.slice(1));

/** What a script answers by turns: names and values. */
export const pairsOf = <Value>(flat: readonly unknown[]): [name: string, value: Value][] => {
  const pairs: [string, Value][] = [];
  for (let at = 0; at < flat.length; at += 2) pairs.push([String(flat[at]), flat[at + 1] as Value]); // as the script is known to write
  return pairs;
};
