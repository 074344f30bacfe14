import type { TrimRequest, TrimStep } from "@rheo/core";
import { idsKey, shardOf } from "./keys.ts";
import { pairsOf } from "./lines.ts";
import { GROUPS, LOGS } from "./program.ts";
import { placesOf, type Shards } from "./shards.ts";

/** Partitions swept at a time. */
const SWEPT_AT_ONCE = 16;

/** @throws stream_not_found */
export const trim = async (
  shards: Shards,
  prefix: string,
  { stream, cut, partitions, force, dryRun }: TrimRequest,
): Promise<TrimStep> => {
  const living = shards.isCluster ? await livingGroups(shards, stream) : ["", ""];
  const parts = await shards.all(LOGS.trim, stream, "", (at) => [
    placesOf(partitions, at),
    ...cutArguments(cut),
    Number(force),
    ...living,
    Number(dryRun),
  ]);
  const wanted = dryRun ? [] : (partitions ?? parts.flatMap((part) => part.partitions));
  for (let at = 0; at < wanted.length; at += SWEPT_AT_ONCE)
    await Promise.all(wanted.slice(at, at + SWEPT_AT_ONCE).map((partition) => sweep(shards, prefix, stream, partition)));
  return parts.reduce<TrimStep>(
    (sum, { answer }) => ({ removed: sum.removed + Number(answer[1]), heldBack: sum.heldBack + Number(answer[2]), more: false }),
    { removed: 0, heldBack: 0, more: false },
  );
};

/** The groups of a stream on a Cluster as partition 0 has them, which decides: see `trim.lua.ts`. */
const livingGroups = async (shards: Shards, stream: string): Promise<[groups: string, version: number]> => {
  const { answer } = await shards.one(GROUPS.living, stream, 0, "", []);
  const [, version, ...groups] = answer;
  return [JSON.stringify(Object.fromEntries(pairsOf<number>(groups))), Number(version)];
};

const cutArguments = (cut: TrimRequest["cut"]): [kind: string, value: number] => {
  switch (cut.kind) {
    case "sequence":
      return [cut.kind, cut.before];
    case "time":
      return [cut.kind, cut.beforeMs];
    case "keep":
      return [cut.kind, cut.last];
    default:
      return cut satisfies never;
  }
};

/** Removes entries that were trimmed, and their ids; also those that somebody else trimmed and did not get to. */
const sweep = async (shards: Shards, prefix: string, stream: string, partition: number): Promise<void> => {
  for (let swept = 0; ; ) {
    const part = await shards.one(LOGS.sweep, stream, partition, "", [swept]);
    const page = part.answer.slice(1) as (number | string)[]; // sequences and ids by turns
    if (page.length === 0) return;
    const byShard = new Map<number, string[]>();
    for (let at = 0; at < page.length; at += 2) {
      const id = String(page[at + 1]);
      const shard = shardOf(id, part.stream.partitions);
      byShard.set(shard, [...(byShard.get(shard) ?? []), id, `${partition}:${page[at]}`]);
      swept = Number(page[at]);
    }
    await Promise.all(
      [...byShard].map(([shard, pairs]) => shards.connection.run(LOGS.dropIds, [idsKey(prefix, stream, shard)], pairs)),
    );
  }
};
