/** Making and removing streams. */
import type { StreamRecord } from "@rheo/core";
import { removeGroup } from "./groups.ts";
import type { Memory } from "./memory.ts";
import { dropIndexes } from "./search.ts";
import { groupsOf } from "./tables/groups.ts";
import { findStream, requireStream } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

const INSERT = "INSERT INTO rheo_streams (name, partitions, created_at_ms) VALUES (?, ?, ?)";
const INSERT_PARTITION = "INSERT INTO rheo_partitions (stream_id, partition) VALUES (?, ?)";
const REMOVE = [
  "DELETE FROM rheo_events WHERE stream_id = ?",
  "DELETE FROM rheo_partitions WHERE stream_id = ?",
  "DELETE FROM rheo_streams WHERE stream_id = ?",
];

export const createStream = (
  { sql, nowMs }: Unit,
  name: string,
  partitions: number,
): { stream: StreamRecord; created: boolean } => {
  const known = findStream(sql, name);
  if (known !== null) return { stream: known.record, created: false };
  sql.run(INSERT, name, partitions, nowMs);
  const { streamId, record } = requireStream(sql, name);
  for (let partition = 0; partition < partitions; partition++) sql.run(INSERT_PARTITION, streamId, partition);
  return { stream: record, created: true };
};

/** Removes the stream with its events and groups. False when there was none. */
export const deleteStream = (unit: Unit, name: string, memory: Memory): boolean => {
  const known = findStream(unit.sql, name);
  if (known === null) return false;
  for (const group of groupsOf(unit.sql, name, known.streamId)) removeGroup(unit, group, memory);
  dropIndexes(unit.sql, known.streamId);
  for (const statement of REMOVE) unit.sql.run(statement, known.streamId);
  return true;
};
