/** Making, changing and removing groups. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, ResolvedStart } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { integerOrNull } from "./columns.ts";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { META, readMeta, writeMeta } from "./schema.ts";
import { findGroup, type GroupRow, groupsAfter, requireGroup } from "./tables/groups.ts";
import { requireStream } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

const INSERT = "INSERT INTO rheo_groups (stream_id, name, options, created_at_ms) VALUES (?, ?, ?, ?)";
const UPDATE = "UPDATE rheo_groups SET options = ?, paused = ? WHERE group_id = ?";
const HIGHEST_TOKEN = "SELECT MAX(token) FROM rheo_heads WHERE group_id = ?";
const OF_A_GROUP = [
  "rheo_heads",
  "rheo_leases",
  "rheo_exceptions",
  "rheo_dead_letters",
  "rheo_revocations",
  "rheo_members",
  "rheo_groups",
] as const;

/** The start is found in the same transaction, so nothing appended meanwhile is missed or seen twice (G1). @throws stream_not_found */
export const createGroup = (
  unit: Unit,
  stream: string,
  name: string,
  options: ResolvedGroupOptions,
  start: ResolvedStart,
  memory: Memory,
): { group: GroupRecord; created: boolean } => {
  const { sql, nowMs } = unit;
  const { streamId } = requireStream(sql, stream);
  const known = findGroup(sql, stream, name);
  if (typeof known !== "string") return { group: known.record, created: false };
  sql.run(INSERT, streamId, name, JSON.stringify(options), nowMs);
  const row = requireGroup(sql, stream, name);
  const store = new SqliteProgressStore(unit, row, memory.touches);
  const floor = readMeta(sql, META.tokenFloor);
  for (let partition = 0; partition < row.partitions; partition++) {
    // tokens up to the floor were given to an earlier group, and no lease of it fits this one
    const cursor = progress.startCursor(store, partition, start);
    store.putHead(partition, { cursor, token: floor, resetToken: floor, start: cursor, skipped: 0 });
  }
  return { group: row.record, created: true };
};

/** @throws stream_not_found, group_not_found */
export const getGroup = ({ sql }: Unit, stream: string, name: string): GroupRecord => requireGroup(sql, stream, name).record;

/** @throws stream_not_found */
export const listGroups = ({ sql }: Unit, stream: string, { after, limit }: NamePage): GroupRecord[] =>
  groupsAfter(sql, stream, requireStream(sql, stream).streamId, after, limit);

/** @throws stream_not_found, group_not_found */
export const updateGroup = (
  { sql }: Unit,
  stream: string,
  name: string,
  change: { options?: ResolvedGroupOptions; paused?: boolean },
): GroupRecord => {
  const { groupId, record } = requireGroup(sql, stream, name);
  sql.run(UPDATE, JSON.stringify(change.options ?? record.options), (change.paused ?? record.paused) ? 1 : 0, groupId);
  return requireGroup(sql, stream, name).record;
};

/** False when there was none. @throws stream_not_found */
export const deleteGroup = (unit: Unit, stream: string, name: string, memory: Memory): boolean => {
  requireStream(unit.sql, stream);
  const group = findGroup(unit.sql, stream, name);
  if (typeof group === "string") return false;
  removeGroup(unit, group, memory);
  return true;
};

/** Removes all records of a group, and keeps in mind the highest token it gave (F1). */
export const removeGroup = (unit: Unit, { groupId }: GroupRow, memory: Memory): void => {
  const { sql } = unit;
  const highest = integerOrNull(sql.get(HIGHEST_TOKEN, groupId)?.[0]) ?? 0;
  writeMeta(sql, META.tokenFloor, Math.max(highest, readMeta(sql, META.tokenFloor)));
  for (const table of OF_A_GROUP) sql.run(`DELETE FROM ${table} WHERE group_id = ?`, groupId);
  unit.afterCommit(() => memory.forget(groupId));
};
