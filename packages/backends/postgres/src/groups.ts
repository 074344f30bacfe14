/** Groups and streams: making, changing, removing and listing them. */
import type { GroupRecord, NamePage, ResolvedGroupOptions, ResolvedStart, StreamRecord } from "@rheo/core";
import { groupNotFound, programText, streamNotFound } from "@rheo/core/internal";
import { type Answer, checkFound } from "./answers.ts";
import { type Database, jsonOf, type Row, type Statement, writing } from "./database.ts";

const CREATE_STREAM = writing("SELECT @.create_stream($1, $2::integer, $3::bigint)");
const DELETE_STREAM = writing("SELECT @.delete_stream($1)");
const CREATE_GROUP = writing("SELECT @.create_group($1, $2, $3, $4::jsonb, $5::jsonb, $6::bigint)");
const UPDATE_GROUP = writing("SELECT @.update_group($1, $2, $3, $4::jsonb, $5::boolean)");
const DELETE_GROUP = writing("SELECT @.delete_group($1, $2)");

export const createStream = async (
  database: Database,
  name: string,
  partitions: number,
  nowMs: number | null,
): Promise<{ stream: StreamRecord; created: boolean; id: number }> => {
  const answer = jsonOf(await database.run(CREATE_STREAM, [name, partitions, nowMs]));
  return {
    stream: { name, partitions: Number(answer.partitions), createdAtMs: Number(answer.createdAtMs) },
    created: answer.created === true,
    id: Number(answer.id),
  };
};

export const deleteStream = async (database: Database, name: string): Promise<{ deleted: boolean; answer: Answer }> => {
  const answer = jsonOf(await database.run(DELETE_STREAM, [name]));
  return { deleted: answer.deleted === true, answer };
};

/** @throws stream_not_found */
export const createGroup = async (
  database: Database,
  stream: string,
  name: string,
  options: ResolvedGroupOptions,
  start: ResolvedStart,
  nowMs: number | null,
): Promise<{ group: GroupRecord; created: boolean; answer: Answer }> => {
  const values = [stream, name, JSON.stringify(options), programText(options.filter), JSON.stringify(start), nowMs];
  const answer = jsonOf(await database.run(CREATE_GROUP, values));
  checkFound(answer, stream, name);
  return { group: await getGroup(database, stream, name), created: answer.created === true, answer };
};

const GROUP = "g.name, g.options, g.paused, @.ms(g.created_at)";
const BY_NAME: Statement = {
  text: `SELECT ${GROUP} FROM @.streams s LEFT JOIN @.groups g ON g.stream_id = s.stream_id AND g.name = $2 WHERE s.name = $1`,
  writes: false,
};
const AFTER_NAME: Statement = {
  text: `SELECT ${GROUP} FROM @.streams s LEFT JOIN @.groups g ON g.stream_id = s.stream_id AND ($2::text IS NULL OR g.name > $2::text)
    WHERE s.name = $1 ORDER BY g.name LIMIT $3::integer`,
  writes: false,
};

/** @throws stream_not_found, group_not_found */
export const getGroup = async (database: Database, stream: string, name: string): Promise<GroupRecord> => {
  const [row] = await database.run(BY_NAME, [stream, name]);
  if (row === undefined) throw streamNotFound(stream);
  if (row[0] === null) throw groupNotFound(stream, name);
  return toGroup(stream, row);
};

/** @throws stream_not_found */
export const listGroups = async (database: Database, stream: string, { after, limit }: NamePage): Promise<GroupRecord[]> => {
  const rows = await database.run(AFTER_NAME, [stream, after, limit]);
  if (rows.length === 0) throw streamNotFound(stream);
  return rows.filter((row) => row[0] !== null).map((row) => toGroup(stream, row));
};

const toGroup = (stream: string, row: Row): GroupRecord => ({
  stream,
  name: row[0] ?? "",
  options: JSON.parse(row[1] ?? "{}") as ResolvedGroupOptions, // written by createGroup and updateGroup only
  paused: row[2] === "t",
  createdAtMs: Number(row[3]),
});

/** @throws stream_not_found, group_not_found */
export const updateGroup = async (
  database: Database,
  stream: string,
  name: string,
  { options, paused }: { options?: ResolvedGroupOptions; paused?: boolean },
): Promise<{ group: GroupRecord; answer: Answer }> => {
  const values = [
    stream,
    name,
    options === undefined ? null : JSON.stringify(options),
    options === undefined ? null : programText(options.filter),
    paused ?? null,
  ];
  const answer = jsonOf(await database.run(UPDATE_GROUP, values));
  checkFound(answer, stream, name);
  return { group: await getGroup(database, stream, name), answer };
};

/** @throws stream_not_found */
export const deleteGroup = async (
  database: Database,
  stream: string,
  name: string,
): Promise<{ deleted: boolean; answer: Answer }> => {
  const answer = jsonOf(await database.run(DELETE_GROUP, [stream, name]));
  checkFound(answer, stream, name);
  return { deleted: answer.deleted === true, answer };
};
