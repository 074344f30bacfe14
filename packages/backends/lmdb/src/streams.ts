/** Making and removing streams. */
import type { StreamRecord } from "@rheo/core";
import { removeGroup } from "./groups.ts";
import type { Unit } from "./session.ts";
import { addLeftover } from "./tables/leftovers.ts";
import { META, nextId } from "./tables/meta.ts";
import { deletePartitions, deleteStreamRow, putStream } from "./tables/streams.ts";

export const createStream = (
  { environment, catalog, nowMs }: Unit,
  name: string,
  partitions: number,
): { stream: StreamRecord; created: boolean } => {
  const known = catalog.stream(name);
  if (known !== null) return { stream: known.record, created: false };
  const record = { name, partitions, createdAtMs: nowMs };
  putStream(environment, { streamId: nextId(environment, META.lastStream), record });
  return { stream: record, created: true };
};

/** Removes the stream with its groups; its events are removed bit by bit, and nobody sees them any more. False when there was none. */
export const deleteStream = (unit: Unit, name: string): boolean => {
  const { environment, catalog } = unit;
  const stream = catalog.stream(name);
  if (stream === null) return false;
  for (const group of catalog.groupsOf(stream)) removeGroup(unit, group);
  addLeftover(environment, stream.streamId);
  deletePartitions(environment, stream.streamId);
  deleteStreamRow(environment, name);
  catalog.forgetStream(name);
  return true;
};
