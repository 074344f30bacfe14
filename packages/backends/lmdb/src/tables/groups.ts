/** Groups by stream and name. */
import type { GroupRecord, NamePage } from "@rheo/core";
import { endOf, ID_SIZE, Key, TABLE } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";

export interface GroupRow {
  readonly groupId: number;
  readonly record: GroupRecord;
}

const keyOf = (streamId: number, name: string): Buffer =>
  new Key(TABLE.groups, ID_SIZE + Buffer.byteLength(name)).id(streamId).text(name).bytes;

const NAME_AT = 1 + ID_SIZE;

export const findGroupRow = (environment: Environment, streamId: number, stream: string, name: string): GroupRow | null => {
  const text = environment.text(keyOf(streamId, name));
  return text === null ? null : toRow(stream, name, text);
};

const toRow = (stream: string, name: string, text: string): GroupRow => {
  const { groupId, options, paused, createdAtMs } = JSON.parse(text) as Stored; // written by putGroup only
  return { groupId, record: { stream, name, options: Object.freeze(options), paused, createdAtMs } };
};

interface Stored extends Pick<GroupRecord, "options" | "paused" | "createdAtMs"> {
  readonly groupId: number;
}

export const putGroup = (environment: Environment, streamId: number, { groupId, record }: GroupRow): void => {
  const { name, options, paused, createdAtMs } = record;
  environment.putText(keyOf(streamId, name), JSON.stringify({ groupId, options, paused, createdAtMs } satisfies Stored));
};

export const deleteGroupRow = (environment: Environment, streamId: number, name: string): void =>
  environment.remove(keyOf(streamId, name));

/** By name, which sorts by its bytes. */
export const groupsAfter = (environment: Environment, streamId: number, stream: string, page: NamePage): GroupRow[] => {
  const prefix = new Key(TABLE.groups, ID_SIZE).id(streamId).bytes;
  const start = page.after === null ? prefix : keyOf(streamId, `${page.after}\0`);
  const found: GroupRow[] = [];
  for (const { key, value } of environment.entries({ start, end: endOf(prefix), limit: page.limit }))
    found.push(toRow(stream, key.toString("utf8", NAME_AT), textOf(value)));
  return found;
};
