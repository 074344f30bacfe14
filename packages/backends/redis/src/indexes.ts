/** Indexes by content, partition by partition. */
import { createHash } from "node:crypto";
import { pathOf } from "@rheo/core/internal";
import { LOGS } from "./program.ts";
import type { Shards } from "./shards.ts";

/** Of the key of an index: short, and without anything of what the path says. */
const nameOf = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 16);

/** A short form and what it stands for are one index, under the name that was given first. */
const definitionOf = (path: string): { name: string; path: string; root: string; segments: readonly string[] } => {
  const { root, segments } = pathOf(path);
  return { name: nameOf([root, ...segments].join("\0")), path, root, segments };
};

/**
 * Idempotent. One that was left half built is built on. While it is built, appends and everything else go on: a script puts a page of events
 * into it at a time.
 * @throws stream_not_found
 */
export const createIndex = async (shards: Shards, stream: string, path: string): Promise<void> => {
  const definition = definitionOf(path);
  const { partitions } = await shards.streams.find(stream);
  for (let partition = 0; partition < partitions; partition++) {
    const { answer } = await shards.one(LOGS.beginIndex, stream, partition, "", [JSON.stringify(definition)]);
    if (answer[1] === 1) await fill(shards, stream, partition, definition.name);
  }
};

const fill = async (shards: Shards, stream: string, partition: number, name: string): Promise<void> => {
  for (let after = 0; ; ) {
    const { answer } = await shards.one(LOGS.fillIndex, stream, partition, "", [name, after]);
    if (answer[1] === 0) return;
    after = Number(answer[1]);
  }
};

/** False when there was none. @throws stream_not_found */
export const dropIndex = async (shards: Shards, stream: string, path: string): Promise<boolean> => {
  const { partitions } = await shards.streams.find(stream);
  const { name } = definitionOf(path);
  let dropped = false;
  for (let partition = 0; partition < partitions; partition++) {
    const { answer } = await shards.one(LOGS.dropIndex, stream, partition, "", [name]);
    dropped ||= answer[1] === 1;
  }
  return dropped;
};

/** Paths of those that are ready in every partition, in order. @throws stream_not_found */
export const listIndexes = async (shards: Shards, stream: string): Promise<string[]> => {
  const { partitions } = await shards.streams.find(stream);
  const all = Array.from({ length: partitions }, (_, partition) => shards.one(LOGS.listIndexes, stream, partition, "", []));
  const lists = (await Promise.all(all)).map(({ answer }) => new Set(answer.slice(1) as string[])); // our own script wrote them
  const [first = new Set<string>(), ...others] = lists;
  return [...first].filter((path) => others.every((list) => list.has(path))).sort();
};
