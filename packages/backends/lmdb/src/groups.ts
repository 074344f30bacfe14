/** Making, changing and removing groups. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { GroupState } from "./catalog.ts";
import { LmdbProgressStore } from "./progress-store.ts";
import type { Unit } from "./session.ts";
import { removeLetterIds } from "./tables/dead-letters.ts";
import { deleteGroupRow, groupsAfter, putGroup } from "./tables/groups.ts";
import { removeMembers } from "./tables/members.ts";
import { META, nextId, readMeta, writeMeta } from "./tables/meta.ts";
import { groupKey } from "./tables/progress-keys.ts";

/** The start is found in the same transaction, so nothing appended meanwhile is missed or seen twice (G1). @throws stream_not_found */
export const createGroup = (
  unit: Unit,
  streamName: string,
  name: string,
  options: ResolvedGroupOptions,
  start: ResolvedStart,
): { group: GroupRecord; created: boolean } => {
  const { environment, catalog, nowMs } = unit;
  const stream = catalog.requireStream(streamName);
  const known = catalog.groupOf(stream, name);
  if (known !== null) return { group: known.record, created: false };
  const record = { stream: streamName, name, options, paused: false, createdAtMs: nowMs };
  putGroup(environment, stream.streamId, { groupId: nextId(environment, META.lastGroup), record });
  const group = catalog.requireGroup(streamName, name);
  const store = new LmdbProgressStore(environment, group);
  const floor = readMeta(environment, META.tokenFloor);
  for (let partition = 0; partition < group.partitions; partition++) {
    // tokens up to the floor were given to an earlier group, and no lease of it fits this one
    const cursor = progress.startCursor(store, partition, start);
    store.putHead(partition, { cursor, token: floor, resetToken: floor, start: cursor, skipped: 0 });
  }
  store.finish();
  return { group: group.record, created: true };
};

/** @throws stream_not_found, group_not_found */
export const getGroup = ({ catalog }: Unit, stream: string, name: string): GroupRecord =>
  catalog.requireGroup(stream, name).record;

/** @throws stream_not_found */
export const listGroups = ({ environment, catalog }: Unit, stream: string, page: NamePage): GroupRecord[] =>
  groupsAfter(environment, catalog.requireStream(stream).streamId, stream, page).map(({ record }) => record);

/** @throws stream_not_found, group_not_found */
export const updateGroup = (
  { environment, catalog }: Unit,
  stream: string,
  name: string,
  change: { options?: ResolvedGroupOptions; paused?: boolean },
): GroupRecord => {
  const group = catalog.requireGroup(stream, name);
  const { groupId, record: before } = group;
  const record = { ...before, options: change.options ?? before.options, paused: change.paused ?? before.paused };
  putGroup(environment, group.stream.streamId, { groupId, record });
  group.record = record;
  return record;
};

/** False when there was none. @throws stream_not_found */
export const deleteGroup = (unit: Unit, streamName: string, name: string): boolean => {
  const stream = unit.catalog.requireStream(streamName);
  const group = unit.catalog.groupOf(stream, name);
  if (group === null) return false;
  removeGroup(unit, group);
  return true;
};

/** Removes all records of a group, and keeps in mind the highest token it gave (F1). */
export const removeGroup = ({ environment }: Unit, group: GroupState): void => {
  const { groupId, stream, record } = group;
  let highest = readMeta(environment, META.tokenFloor);
  for (let partition = 0; partition < group.partitions; partition++)
    highest = Math.max(highest, group.part(partition).head.token);
  writeMeta(environment, META.tokenFloor, highest);
  environment.removeAll(groupKey(groupId));
  removeLetterIds(environment, groupId);
  removeMembers(environment, groupId);
  deleteGroupRow(environment, stream.streamId, record.name);
  stream.groups.delete(record.name);
};
