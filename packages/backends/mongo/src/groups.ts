/** Making, changing and removing groups. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import {
  findGroup,
  groupsOf,
  idsOfPartitions,
  partitionsOf,
  requireGroup,
  requireStream,
  type StoredGroup,
  toGroup,
} from "./catalog.ts";
import { sequenceAtTime } from "./events.ts";
import { noteGarbage, removeGarbage } from "./garbage.ts";
import { groupId, headId, KINDS, kindRange } from "./ids.ts";
import { nextId, raiseTokenFloor, tokenFloor } from "./meta.ts";
import { newHead } from "./records/encode.ts";
import type { Store, Unit } from "./store.ts";

type Made = { group: GroupRecord; created: boolean };

/** The start is found in the transaction that makes the group, so nothing appended meanwhile is missed or seen twice (G1). @throws stream_not_found */
export const createGroup = async (
  store: Store,
  stream: string,
  name: string,
  options: ResolvedGroupOptions,
  start: ResolvedStart,
): Promise<Made> => {
  const known = await store.read((unit) => findGroup(unit, stream, name));
  if (known !== null) return { group: known.record, created: false };
  const group = await store.read(({ collections }) => nextId(collections));
  return store.write((unit) => insert(unit, stream, { name, group, options, start }));
};

interface NewGroup {
  readonly name: string;
  readonly group: number;
  readonly options: ResolvedGroupOptions;
  readonly start: ResolvedStart;
}

const insert = async (unit: Unit, stream: string, { name, group, options, start }: NewGroup): Promise<Made> => {
  const { collections, within, store } = unit;
  const known = await findGroup(unit, stream, name);
  if (known !== null) return { group: known.record, created: false };
  const parent = await requireStream(unit, stream);
  // written first: a trim or an append that comes between has to wait, or is waited for
  await collections.partitions.updateMany({ _id: { $in: idsOfPartitions(parent) } }, { $inc: { groupsMade: 1 } }, within);
  const partitions = await partitionsOf(unit, parent);
  const floor = await tokenFloor(collections, within);
  const createdAtMs = await store.now(within);
  const _id = groupId(parent.streamId, name);
  const document = {
    _id,
    group,
    stream: parent.streamId,
    name,
    options: JSON.stringify(options),
    paused: false,
    createdAtMs,
  };
  await collections.groups.insertOne(document, within);
  const atTime: number[] = [];
  if (start.kind === "time")
    for (const state of partitions) atTime.push(await sequenceAtTime(unit, parent.streamId, state, start.timeMs));
  const view = {
    watermark: (partition: number) => partitions[partition] ?? { partition, firstSequence: 1, highWatermark: 0 },
    sequenceAtTime: (partition: number) => atTime[partition] ?? 1,
  };
  const heads = partitions.map(({ partition }) => {
    // tokens up to the floor were given to an earlier group, and no lease of it fits this one
    const cursor = progress.startCursor(view, partition, start);
    return newHead(headId(group, partition), partition, { cursor, token: floor, resetToken: floor, start: cursor, skipped: 0 });
  });
  await collections.progress.insertMany(heads, within);
  return { group: toGroup(parent, document).record, created: true };
};

/** @throws stream_not_found */
export const listGroups = async (unit: Unit, stream: string, page: NamePage): Promise<GroupRecord[]> =>
  (await groupsOf(unit, await requireStream(unit, stream), page)).map(({ record }) => record);

/** @throws stream_not_found, group_not_found */
export const updateGroup = async (
  unit: Unit,
  stream: string,
  name: string,
  change: { options?: ResolvedGroupOptions; paused?: boolean },
): Promise<GroupRecord> => {
  const { collections, within } = unit;
  const { record, stream: parent } = await requireGroup(unit, stream, name);
  const changed = { options: change.options ?? record.options, paused: change.paused ?? record.paused };
  const values = { options: JSON.stringify(changed.options), paused: changed.paused };
  await collections.groups.updateOne({ _id: groupId(parent, name) }, { $set: values }, within);
  return { ...record, ...changed };
};

/** False when there was none. @throws stream_not_found */
export const deleteGroup = async (store: Store, stream: string, name: string): Promise<boolean> => {
  const garbage = await store.write(async (unit) => {
    const found = await findGroup(unit, stream, name);
    if (found === null) return null;
    await dropGroup(unit, found);
    const left = { stream: null, groups: [found.group] };
    await noteGarbage(unit, left);
    return left;
  });
  if (garbage === null) return false;
  await store.read(({ collections }) => removeGarbage(collections, garbage));
  return true;
};

/** Removes what makes it a group: without heads no operation on it ends. The highest token it gave is kept in mind (F1). */
export const dropGroup = async ({ collections, within }: Unit, { group, stream, record }: StoredGroup): Promise<void> => {
  const heads = { _id: kindRange(group, KINDS.head) };
  const [highest] = await collections.progress.find(heads, { ...within, sort: { token: -1 }, limit: 1 }).toArray();
  await raiseTokenFloor(collections, within, Number(highest?.token ?? 0));
  await collections.groups.deleteOne({ _id: groupId(stream, record.name) }, within);
  await collections.progress.deleteMany(heads, within);
};
