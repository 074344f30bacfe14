/** Groups: making, changing, removing and listing them. On a Cluster partition 0 decides, and the others follow. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, ResolvedStart } from "@rheo/core";
import type { Argument, Script } from "./connection.ts";
import { copyArguments, creationArguments, optionArguments, toGroup, type Written } from "./group-record.ts";
import { pairsOf } from "./lines.ts";
import { GROUPS } from "./program.ts";
import { type ArgumentsOf, checkGroup, type Part, type Shards } from "./shards.ts";

/** First where it is decided, then in the other partitions of a Cluster as it was decided. */
const decide = async (
  shards: Shards,
  script: Script,
  stream: string,
  group: string,
  decision: ArgumentsOf,
  following: (decided: Part) => ArgumentsOf,
): Promise<Part> => {
  if (!shards.isCluster) {
    const [part] = await shards.all(script, stream, group, decision);
    if (part !== undefined) return part;
  }
  const decided = await shards.one(script, stream, 0, group, decision([0], await shards.streams.find(stream)));
  const others = decided.stream.heads.map((_, partition) => [partition]).slice(1);
  if (decided.answer[0] === "ok") await shards.each(script, stream, group, others, following(decided));
  return decided;
};

/** @throws stream_not_found */
export const createGroup = async (
  shards: Shards,
  stream: string,
  name: string,
  options: ResolvedGroupOptions,
  start: ResolvedStart,
): Promise<{ group: GroupRecord; created: boolean }> => {
  const { answer } = await decide(
    shards,
    GROUPS.create,
    stream,
    name,
    (partitions) => creationArguments(options, start, partitions, []),
    (decided) => (partitions) => copyArguments(decided.answer[2] as Written, partitions), // our own script wrote it
  );
  return { group: toGroup(stream, name, answer[2] as Written), created: answer[1] === 1 }; // as above
};

/** @throws stream_not_found, group_not_found */
export const getGroup = async (shards: Shards, stream: string, name: string): Promise<GroupRecord> =>
  found(await shards.one(GROUPS.read, stream, 0, name, []), stream, name);

/** @throws stream_not_found */
export const listGroups = async (shards: Shards, stream: string, { after, limit }: NamePage): Promise<GroupRecord[]> => {
  const { answer } = await shards.one(GROUPS.list, stream, 0, "", [after ?? "", limit]);
  return pairsOf<Written>(answer.slice(1)).map(([name, record]) => toGroup(stream, name, record));
};

/** @throws stream_not_found, group_not_found */
export const updateGroup = async (
  shards: Shards,
  stream: string,
  name: string,
  { options, paused }: { options?: ResolvedGroupOptions; paused?: boolean },
): Promise<GroupRecord> => {
  const changes: readonly Argument[] = options === undefined ? ["", "", "", "", "", ""] : optionArguments(options);
  const change = [...changes, paused === undefined ? "" : Number(paused)];
  const part = await decide(
    shards,
    GROUPS.update,
    stream,
    name,
    () => [...change, ""],
    (decided) => () => [...change, (decided.answer[1] as Written)[3]], // our own script wrote it
  );
  return found(part, stream, name);
};

/** @throws stream_not_found */
export const deleteGroup = async (shards: Shards, stream: string, name: string): Promise<boolean> => {
  const { answer } = await decide(
    shards,
    GROUPS.remove,
    stream,
    name,
    () => [],
    () => () => [],
  );
  return answer[1] === 1;
};

const found = (part: Part, stream: string, name: string): GroupRecord => {
  checkGroup([part], stream, name);
  return toGroup(stream, name, part.answer[1] as Written); // our own script wrote it
};
