/** Events packed as scripts take them: see `append.lua.ts`. */
import type { NewEvent } from "@rheo/core";
import { shardOf } from "./keys.ts";
import { tailOf } from "./lines.ts";
import { SHAPE } from "./lua/append.lua.ts";
import { Packer } from "./packer.ts";

/** What the packed form of an event takes beside its texts, at most. */
const EVENT_OVERHEAD = 80;

const PARTS = 6;

export interface Batch {
  /** Bytes of the largest event. */
  readonly largest: number;
  readonly packed: Buffer;
  /** No id is there twice, and no event expects a sequence. */
  readonly isPlain: boolean;
}

/** `counts`: how many events each request has. `partitions`: of the stream, where the script finds partitions and shards; else 1. */
export const batchOf = (counts: readonly number[], events: readonly NewEvent[], partitions: number): Batch => {
  const shapes = events.map(shapeOf);
  const ids = new Set<string>();
  let bytes = EVENT_OVERHEAD * (1 + counts.length + events.length);
  let largest = 0;
  let items = 2 * events.length;
  let expects = false;
  for (const event of events) {
    ids.add(event.id);
    bytes += event.bytes;
    largest = Math.max(largest, event.bytes);
    items += Number(event.timestampMs !== null) + Number(event.expectedSequence !== null);
    expects ||= event.expectedSequence !== null;
  }
  const packer = new Packer(bytes);
  packer.array(PARTS);
  packer.numbers(counts);
  packer.array(events.length);
  for (const { id } of events) packer.text(id);
  packer.numbers(partitions === 1 ? [] : events.map(({ id }) => shardOf(id, partitions)));
  packer.numbers(partitions === 1 ? [] : events.map(({ partition }) => partition));
  packer.numbers(shapes);
  packer.array(items);
  for (const event of events) pack(packer, event);
  return { largest, packed: packer.done(), isPlain: !expects && ids.size === events.length };
};

const shapeOf = ({ expectedSequence, timestampMs }: NewEvent): number =>
  (expectedSequence === null ? 0 : SHAPE.expected) + (timestampMs === null ? 0 : SHAPE.at);

const pack = (packer: Packer, event: NewEvent): void => {
  if (event.expectedSequence !== null) packer.number(event.expectedSequence);
  if (event.timestampMs !== null) packer.text(String(event.timestampMs));
  packer.text(tailOf(event));
  packer.text(event.payload);
};
