/** Streams, partitions and groups as they are stored, by name. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, RheoError, StreamRecord } from "@rheo/core";
import { groupNotFound, type PartitionState, type StoredStream, streamNotFound } from "@rheo/core/internal";
import type { GroupDocument, PartitionDocument, StreamDocument } from "./documents.ts";
import { groupId, groupsRange, partitionId } from "./ids.ts";
import type { Unit } from "./store.ts";

/** A group with where its records are. */
export interface StoredGroup {
  readonly record: GroupRecord;
  readonly group: number;
  readonly stream: number;
  readonly partitions: number;
}

const toStream = ({ _id: name, stream, partitions, createdAtMs }: StreamDocument): StoredStream => ({
  streamId: stream,
  record: { name, partitions, createdAtMs },
});

export const toGroup = (stream: StoredStream, found: GroupDocument): StoredGroup => ({
  record: {
    stream: stream.record.name,
    name: found.name,
    options: JSON.parse(found.options) as ResolvedGroupOptions, // written by this package only
    paused: found.paused,
    createdAtMs: found.createdAtMs,
  },
  group: found.group,
  stream: stream.streamId,
  partitions: stream.record.partitions,
});

export const findStream = async ({ collections, within, store }: Unit, name: string): Promise<StoredStream | null> => {
  const found = await collections.streams.findOne({ _id: name }, within);
  if (found === null) return null;
  store.memory.metStream(found.stream, name);
  return toStream(found);
};

/** @throws stream_not_found */
export const requireStream = async (unit: Unit, name: string): Promise<StoredStream> => {
  const found = await findStream(unit, name);
  if (found === null) throw streamNotFound(name);
  return found;
};

/** By name. Names compare by their bytes. */
export const streamsAfter = async ({ collections, within }: Unit, { after, limit }: NamePage): Promise<StreamRecord[]> => {
  const found = await collections.streams.find({ _id: { $gt: after ?? "" } }, { ...within, sort: { _id: 1 }, limit }).toArray();
  return found.map((document) => toStream(document).record);
};

/** Null when the group is missing; a missing stream throws first (G5). @throws stream_not_found */
export const findGroup = async (unit: Unit, stream: string, name: string): Promise<StoredGroup | null> => {
  const { collections, within } = unit;
  const known = await requireStream(unit, stream);
  const found = await collections.groups.findOne({ _id: groupId(known.streamId, name) }, within);
  return found === null ? null : toGroup(known, found);
};

/** @throws stream_not_found, group_not_found */
export const requireGroup = async (unit: Unit, stream: string, name: string): Promise<StoredGroup> => {
  const found = await findGroup(unit, stream, name);
  if (found === null) throw missingError(await whyMissing(unit, stream), stream, name);
  return found;
};

/** Of a group that is not there: its stream may have been deleted, and the group with it, since the stream was looked up (G5). */
export const whyMissing = async (unit: Unit, stream: string): Promise<Missed> =>
  (await findStream(unit, stream)) === null ? "stream_not_found" : "group_not_found";

/** What is not there of a group and its stream. */
export type Missed = "stream_not_found" | "group_not_found";

export const missingError = (what: Missed, stream: string, group: string): RheoError =>
  what === "stream_not_found" ? streamNotFound(stream) : groupNotFound(stream, group);

/** By name. */
export const groupsOf = async (unit: Unit, stream: StoredStream, page?: NamePage): Promise<StoredGroup[]> => {
  const { collections, within } = unit;
  const range = groupsRange(stream.streamId);
  const above = page === undefined || page.after === null ? range : { $gt: groupId(stream.streamId, page.after), $lt: range.$lt };
  const found = collections.groups.find({ _id: above }, { ...within, sort: { _id: 1 }, limit: page?.limit ?? 0 });
  return (await found.toArray()).map((document) => toGroup(stream, document));
};

export const idsOfPartitions = ({ streamId, record }: StoredStream): string[] =>
  Array.from({ length: record.partitions }, (_, partition) => partitionId(streamId, partition));

export const toPartition = ({
  partition,
  firstSequence,
  highWatermark,
  latestMs,
  largestBytes,
}: PartitionDocument): PartitionState => ({
  partition,
  firstSequence,
  highWatermark,
  latestMs,
  largestBytes,
});

/** In order. */
export const partitionsOf = async ({ collections, within }: Unit, stream: StoredStream): Promise<PartitionState[]> => {
  const found = await collections.partitions.find({ _id: { $in: idsOfPartitions(stream) } }, within).toArray();
  return found.map(toPartition).sort((a, b) => a.partition - b.partition);
};

export const partitionAt = async (
  { collections, within }: Unit,
  stream: number,
  partition: number,
): Promise<PartitionState | null> => {
  const found = await collections.partitions.findOne({ _id: partitionId(stream, partition) }, within);
  return found === null ? null : toPartition(found);
};
