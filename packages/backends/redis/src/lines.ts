/** Events as scripts answer them: `<sequence>-0`, id, at, type, key, metadata and payload, apart by U+0000, which none of them can contain. */
import type { EventRecord } from "@rheo/core";

export const toRecord = (line: string, partition: number): EventRecord => {
  const [entry = "", id = "", at = "", type = "", key = "", metadata = "", payload = ""] = line.split("\u0000");
  return {
    id,
    partition,
    sequence: Number.parseInt(entry, 10),
    timestampMs: Number(at),
    type: optional(type),
    key: optional(key),
    metadata,
    payload,
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
