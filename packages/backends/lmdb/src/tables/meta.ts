/** Numbers that the store keeps once. */
import { Key, TABLE } from "../bytes.ts";
import type { Environment } from "../environment.ts";

export const META = {
  version: "schema_version",
  /** No token of a group that was deleted is above this (F1). */
  tokenFloor: "token_floor",
  /** The last id given to a stream and to a group: none is used again, so nothing left of one can pass for a later one's. */
  lastStream: "last_stream_id",
  lastGroup: "last_group_id",
} as const;

type Name = (typeof META)[keyof typeof META];

const keyOf = (name: Name): Buffer => new Key(TABLE.meta, name.length).text(name).bytes;

/** 0 when it was never written. */
export const readMeta = (environment: Environment, name: Name): number => Number(environment.text(keyOf(name)) ?? 0);

export const writeMeta = (environment: Environment, name: Name, value: number): void =>
  environment.putText(keyOf(name), String(value));

/** The next id of a kind. */
export const nextId = (environment: Environment, name: typeof META.lastStream | typeof META.lastGroup): number => {
  const id = readMeta(environment, name) + 1;
  writeMeta(environment, name, id);
  return id;
};
