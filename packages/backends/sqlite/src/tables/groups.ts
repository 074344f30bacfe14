/** Rows of rheo_groups. */
import { type GroupRecord, RheoError } from "@rheo/core";
import { groupNotFound, streamNotFound } from "@rheo/core/internal";
import { integer, isTrue, partitionCount, text } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

type GroupOptions = GroupRecord["options"];

export interface GroupRow {
  readonly groupId: number;
  readonly streamId: number;
  readonly partitions: number;
  readonly record: GroupRecord;
}

// cost: two seeks
const BY_NAME = `SELECT s.stream_id, s.partitions, g.group_id, g.options, g.paused, g.created_at_ms
FROM rheo_streams s LEFT JOIN rheo_groups g ON g.stream_id = s.stream_id AND g.name = ?2 WHERE s.name = ?1`;
const OF_STREAM = "SELECT name FROM rheo_groups WHERE stream_id = ? ORDER BY name";
const PAGE =
  "SELECT name, options, paused, created_at_ms FROM rheo_groups WHERE stream_id = ? AND name > ? ORDER BY name LIMIT ?";

export type Found = GroupRow | "stream_not_found" | "group_not_found";

/** The stream is looked up before the group (G5). */
export const findGroup = (sql: Sql, stream: string, group: string): Found => {
  const row = sql.get(BY_NAME, stream, group);
  if (row === undefined) return "stream_not_found";
  if (row[2] === null) return "group_not_found";
  return {
    streamId: integer(row[0]),
    partitions: partitionCount(row[1]),
    groupId: integer(row[2]),
    record: { stream, name: group, options: parseStored(text(row[3])), paused: isTrue(row[4]), createdAtMs: integer(row[5]) },
  };
};

/** @throws stream_not_found, group_not_found */
export const requireGroup = (sql: Sql, stream: string, group: string): GroupRow => {
  const found = findGroup(sql, stream, group);
  if (found === "stream_not_found") throw streamNotFound(stream);
  if (found === "group_not_found") throw groupNotFound(stream, group);
  return found;
};

export const groupsOf = (sql: Sql, stream: string, streamId: number): GroupRow[] =>
  sql.all(OF_STREAM, streamId).map(([name]) => requireGroup(sql, stream, text(name)));

export const groupsAfter = (sql: Sql, stream: string, streamId: number, after: string | null, limit: number): GroupRecord[] =>
  sql.all(PAGE, streamId, after ?? "", limit).map((row: Row) => ({
    stream,
    name: text(row[0]),
    options: parseStored(text(row[1])),
    paused: isTrue(row[2]),
    createdAtMs: integer(row[3]),
  }));

/** Options are read with every fetch and change hardly ever, so each text is parsed once. */
const parsed = new Map<string, GroupOptions>();
const PARSED_KEPT = 1_000;

/** @throws unavailable - neither createGroup nor updateGroup wrote that */
const readOptions = (json: string): GroupOptions => {
  try {
    const options: unknown = JSON.parse(json);
    if (typeof options === "object" && options !== null && "maxAttempts" in options && "retry" in options)
      return options as GroupOptions; // written by createGroup and updateGroup only
  } catch {
    // told below
  }
  throw new RheoError(
    "unavailable",
    `The options of a group are stored as ${JSON.stringify(json.slice(0, 200))}, which is not what Rheo writes: the store was written to by something else, or is damaged. Mend the row of rheo_groups.`,
  );
};

const parseStored = (json: string): GroupOptions => {
  const known = parsed.get(json);
  if (known !== undefined) return known;
  const options = Object.freeze(readOptions(json));
  if (parsed.size >= PARSED_KEPT) parsed.clear();
  parsed.set(json, options);
  return options;
};
