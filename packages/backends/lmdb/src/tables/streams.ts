/** Streams by name, and their partitions. */
import type { StreamRecord } from "@rheo/core";
import type { PartitionState, StoredStream } from "@rheo/core/internal";
import { endOf, ID_SIZE, Key, TABLE } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";

const keyOf = (name: string): Buffer => new Key(TABLE.streams, Buffer.byteLength(name)).text(name).bytes;

export const findStream = (environment: Environment, name: string): StoredStream | null => {
  const text = environment.text(keyOf(name));
  return text === null ? null : toRow(name, text);
};

const toRow = (name: string, text: string): StoredStream => {
  const [streamId, partitions, createdAtMs] = JSON.parse(text) as [number, number, number]; // written by putStream only
  return { streamId, record: { name, partitions, createdAtMs } };
};

export const putStream = (environment: Environment, { streamId, record }: StoredStream): void =>
  environment.putText(keyOf(record.name), JSON.stringify([streamId, record.partitions, record.createdAtMs]));

export const deleteStreamRow = (environment: Environment, name: string): void => environment.remove(keyOf(name));

/** Names sort by their bytes, which is code point order; none is empty. */
export const streamsAfter = (environment: Environment, after: string | null, limit: number): StreamRecord[] => {
  const start = after === null ? new Key(TABLE.streams, 0).bytes : keyOf(`${after}\0`);
  const end = endOf(new Key(TABLE.streams, 0).bytes);
  const found: StreamRecord[] = [];
  for (const { key, value } of environment.entries({ start, end, limit }))
    found.push(toRow(key.toString("utf8", 1), textOf(value)).record);
  return found;
};

const partitionKey = (streamId: number, partition: number): Buffer =>
  new Key(TABLE.partitions, 2 * ID_SIZE).id(streamId).id(partition).bytes;

export const readPartition = (environment: Environment, streamId: number, partition: number): PartitionState => {
  const text = environment.text(partitionKey(streamId, partition));
  if (text === null) return { partition, firstSequence: 1, highWatermark: 0, latestMs: null, largestBytes: 0 };
  const [firstSequence, highWatermark, latestMs, largestBytes] = JSON.parse(text) as [number, number, number | null, number]; // as below
  return { partition, firstSequence, highWatermark, latestMs, largestBytes };
};

export const putPartition = (environment: Environment, streamId: number, row: PartitionState): void =>
  environment.putText(
    partitionKey(streamId, row.partition),
    JSON.stringify([row.firstSequence, row.highWatermark, row.latestMs, row.largestBytes]),
  );

export const deletePartitions = (environment: Environment, streamId: number): void =>
  environment.removeAll(new Key(TABLE.partitions, ID_SIZE).id(streamId).bytes);
