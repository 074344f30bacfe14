/** Making and removing streams. */
import type { StreamRecord } from "@rheo/core";
import { findStream, groupsOf } from "./catalog.ts";
import { type Garbage, noteGarbage, removeGarbage } from "./garbage.ts";
import { dropGroup } from "./groups.ts";
import { partitionId, partitionsRange } from "./ids.ts";
import { nextId } from "./meta.ts";
import type { Store, Unit } from "./store.ts";

export const createStream = async (
  store: Store,
  name: string,
  partitions: number,
): Promise<{ stream: StreamRecord; created: boolean }> => {
  const known = await store.read((unit) => findStream(unit, name));
  if (known !== null) return { stream: known.record, created: false };
  const stream = await store.read(({ collections }) => nextId(collections));
  return store.write((unit) => insert(unit, { name, stream, partitions }));
};

const insert = async (
  unit: Unit,
  { name, stream, partitions }: { readonly name: string; readonly stream: number; readonly partitions: number },
): Promise<{ stream: StreamRecord; created: boolean }> => {
  const { collections, within, store } = unit;
  const known = await findStream(unit, name);
  if (known !== null) return { stream: known.record, created: false };
  const createdAtMs = await store.now(within);
  await collections.streams.insertOne({ _id: name, stream, partitions, createdAtMs }, within);
  const rows = Array.from({ length: partitions }, (_, partition) => emptyPartition(stream, partition));
  await collections.partitions.insertMany(rows, within);
  return { stream: { name, partitions, createdAtMs }, created: true };
};

const emptyPartition = (stream: number, partition: number) => ({
  _id: partitionId(stream, partition),
  stream,
  partition,
  firstSequence: 1,
  highWatermark: 0,
  latestMs: null,
  largestBytes: 0,
  groupsMade: 0,
});

/**
 * What makes it a stream goes in one transaction; events and progress, which may be many, after it. Nobody finds these any more, because ids
 * are never used again.
 */
export const deleteStream = async (store: Store, name: string): Promise<boolean> => {
  const garbage = await store.write((unit) => drop(unit, name));
  if (garbage === null) return false;
  await store.read(({ collections }) => removeGarbage(collections, garbage));
  return true;
};

const drop = async (unit: Unit, name: string): Promise<Garbage | null> => {
  const { collections, within } = unit;
  const known = await findStream(unit, name);
  if (known === null) return null;
  const groups = await groupsOf(unit, known);
  for (const group of groups) await dropGroup(unit, group);
  await collections.streams.deleteOne({ _id: name }, within);
  await collections.partitions.deleteMany({ _id: partitionsRange(known.streamId) }, within);
  const garbage = { stream: known.streamId, groups: groups.map(({ group }) => group) };
  await noteGarbage(unit, garbage);
  return garbage;
};
