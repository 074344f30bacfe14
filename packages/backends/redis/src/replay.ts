/** Replay, reset and redrive. */
import type { RedriveRequest, ReplayRequest, ResolvedStart } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { programText } from "@rheo/core/internal";
import { startArguments } from "./group-record.ts";
import type { Place } from "./ids.ts";
import { DELIVERIES } from "./program.ts";
import { placesOfIds } from "./read.ts";
import { checkGroup, type Part, placesOf, type Shards } from "./shards.ts";

/** @throws stream_not_found, group_not_found, nothing_to_replay */
export const replay = async (shards: Shards, request: ReplayRequest): Promise<number> => {
  const { stream, group, scope, partitions, dryRun } = request;
  if (scope.kind === "query") return replayQuery(shards, request, scope.query);
  const value = scope.kind === "after" ? scope.after : scope.timeMs;
  const parts = await shards.all(DELIVERIES.rewind, stream, group, (at) => [
    placesOf(partitions, at),
    scope.kind,
    value,
    1,
    Number(dryRun),
  ]);
  checkGroup(parts, stream, group);
  if (parts.every(({ answer }) => answer[0] === "nothing")) throw nothingToReplay(stream, group, value);
  // on a Cluster some partitions may have nothing, while others have
  return countOffered(
    shards,
    stream,
    group,
    parts.filter(({ answer }) => answer[0] === "ok"),
  );
};

/** @throws stream_not_found, group_not_found */
export const reset = async (shards: Shards, stream: string, group: string, start: ResolvedStart): Promise<number> => {
  const parts = await shards.all(DELIVERIES.reset, stream, group, (partitions) => startArguments(start, partitions));
  checkGroup(parts, stream, group);
  return countOffered(shards, stream, group, parts);
};

/** How many deliveries are open again; where the group has a filter, that is counted page by page. */
const countOffered = async (shards: Shards, stream: string, group: string, parts: readonly Part[]): Promise<number> => {
  let count = 0;
  for (const { partitions, answer } of parts) {
    const isFiltered = answer[1] === 1;
    for (const [at, partition] of partitions.entries()) {
      const after = Number(answer[2 + at * 2]);
      const until = Number(answer[3 + at * 2]);
      count += isFiltered ? await countPages(shards, stream, group, partition, after, until) : Math.max(0, until - after);
    }
  }
  return count;
};

const countPages = async (
  shards: Shards,
  stream: string,
  group: string,
  partition: number,
  after: number,
  until: number,
): Promise<number> => {
  let count = 0;
  for (let last = after; last < until; ) {
    const part = await shards.one(DELIVERIES.countOffered, stream, partition, group, [last, until]);
    checkGroup([part], stream, group);
    count += Number(part.answer[1]);
    last = Number(part.answer[2]);
  }
  return count;
};

/** Each page by itself. */
const replayQuery = async (
  shards: Shards,
  { stream, group, partitions, dryRun }: ReplayRequest,
  query: Extract<ReplayRequest["scope"], { kind: "query" }>["query"],
): Promise<number> => {
  const program = programText(query.filter) ?? "";
  let count = 0;
  for (const partition of query.partitions.filter((one) => partitions === null || partitions.includes(one))) {
    let until = query.until[partition] ?? Number.MAX_SAFE_INTEGER;
    for (let last = query.after[partition] ?? 0; ; ) {
      const args = [last, until, program, query.fromMs ?? "", query.toMs ?? "", Number(dryRun)];
      const part = await shards.one(DELIVERIES.replayPage, stream, partition, group, args);
      checkGroup([part], stream, group);
      const [, reopened, looked, end] = part.answer.map(Number);
      count += reopened ?? 0;
      last = looked ?? 0;
      until = end ?? 0;
      if (last >= until) break;
    }
  }
  return count;
};

/** @throws stream_not_found, group_not_found */
export const redrive = async (shards: Shards, prefix: string, request: RedriveRequest): Promise<number> => {
  const { stream, group, select, purge } = request;
  const { partitions } = await shards.streams.find(stream);
  if (select.kind === "ids") return redriveIds(shards, prefix, request, select.ids, partitions);
  const program = select.kind === "where" ? (programText(select.where) ?? "") : "";
  let count = 0;
  for (let partition = 0; partition < partitions; partition++)
    count += await redrivePages(shards, stream, group, partition, [program, Number(purge), "", ""]);
  return count;
};

const redrivePages = async (
  shards: Shards,
  stream: string,
  group: string,
  partition: number,
  args: readonly (string | number)[],
): Promise<number> => {
  let count = 0;
  for (let last = 0; ; ) {
    const part = await shards.one(DELIVERIES.redrivePage, stream, partition, group, [last, ...args]);
    checkGroup([part], stream, group);
    count += Number(part.answer[1]);
    last = Number(part.answer[2]);
    if (part.answer[3] !== 1) return count;
  }
};

/** Those whose events are there are found by id. What was trimmed can only be purged, and is looked for among all dead letters. */
const redriveIds = async (
  shards: Shards,
  prefix: string,
  { stream, group, purge }: RedriveRequest,
  ids: readonly string[],
  partitions: number,
): Promise<number> => {
  const places = await placesOfIds(shards, prefix, stream, ids);
  const byPartition = new Map<number, Place[]>();
  for (const place of places.values()) byPartition.set(place.partition, [...(byPartition.get(place.partition) ?? []), place]);
  const meant = JSON.stringify(ids);
  let count = 0;
  for (let partition = 0; partition < partitions; partition++) {
    const sequences = (byPartition.get(partition) ?? []).map(({ sequence }) => sequence);
    // a call without any still finds out whether there is such a group
    count += await redrivePages(shards, stream, group, partition, ["", Number(purge), meant, sequences.join(",") || "0"]);
    if (purge && ids.some((id) => !places.has(id)))
      count += await redrivePages(shards, stream, group, partition, ["", 1, meant, ""]);
  }
  return count;
};

const nothingToReplay = (stream: string, group: string, after: number): RheoError =>
  new RheoError(
    "nothing_to_replay",
    `No partition of "${stream}" has a sequence ${after}: there is nothing after it to replay for "${group}".`,
    { stream, group },
  );
