/** Looking at progress: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
import {
  type DeadLetterRecord,
  type DeadLetterRequest,
  type DeliveryState,
  type GroupStats,
  type Holder,
  type LeaseRecord,
  type PartitionProgress,
  RheoError,
} from "@rheo/core";
import { programText, progress as rules } from "@rheo/core/internal";
import { checkFound, cursorNotFound } from "./answers.ts";
import { type Database, jsonOf, reading, type Statement, type Value } from "./database.ts";

const PROGRESS = reading("SELECT @.progress_of($1, $2)");
const STATS = reading("SELECT @.stats_of($1, $2, $3::bigint)");
const HOLDERS = reading("SELECT @.holders_of($1, $2, $3::bigint)");
const LEASES = reading("SELECT @.leases_of($1, $2, $3::integer)");
const DEAD_LETTERS = reading("SELECT @.dead_letters_of($1, $2, $3::integer, $4, $5::jsonb)");
const DELIVERY = reading("SELECT @.delivery_of($1, $2, $3::integer, $4::bigint, $5::bigint)");

/** What our own functions answer has the shapes of the port. */
const ask = async (
  database: Database,
  statement: Statement,
  stream: string,
  group: string,
  values: readonly Value[],
): Promise<Record<string, unknown>> => {
  const answer = jsonOf(await database.run(statement, [stream, group, ...values]));
  checkFound(answer, stream, group);
  return answer;
};

/** @throws unavailable - a record is not there, or is not true */
export const progress = async (database: Database, stream: string, group: string): Promise<PartitionProgress[]> => {
  const { partitions, progress: found } = await ask(database, PROGRESS, stream, group, []);
  const known = found as readonly (PartitionProgress & { readonly cursor: number })[];
  if (known.length !== partitions) throw recordMissing(stream, group, Number(partitions), known);
  return known.map(({ cursor, ...shown }) => {
    rules.checkCursor({ stream, name: group }, shown.partition, cursor, shown.highWatermark);
    return shown;
  });
};

const recordMissing = (
  stream: string,
  group: string,
  partitions: number,
  known: readonly { readonly partition: number }[],
): RheoError => {
  const present = new Set(known.map(({ partition }) => partition));
  const partition = Array.from({ length: partitions }, (_, index) => index).find((index) => !present.has(index));
  return new RheoError(
    "unavailable",
    `Where ${stream}/${partition} and group "${group}" stand there is not recorded: a row of partitions, progress or cursors is missing, so the store was written to by something else, or is damaged. Restore it from a backup.`,
    { stream, group, ...(partition === undefined ? {} : { partition }) },
  );
};

export const groupStats = async (database: Database, stream: string, group: string, nowMs: number | null): Promise<GroupStats> =>
  (await ask(database, STATS, stream, group, [nowMs])) as unknown as GroupStats;

export const holders = async (database: Database, stream: string, group: string, nowMs: number | null): Promise<Holder[]> =>
  (await ask(database, HOLDERS, stream, group, [nowMs])).holders as Holder[];

export const leases = async (database: Database, stream: string, group: string, limit: number): Promise<LeaseRecord[]> =>
  (await ask(database, LEASES, stream, group, [limit])).leases as LeaseRecord[];

/** @throws cursor_not_found */
export const deadLetters = async (
  database: Database,
  { stream, group, limit, after, where }: DeadLetterRequest,
): Promise<DeadLetterRecord[]> => {
  if (after?.includes("\u0000") === true) throw cursorNotFound(stream, after);
  const answer = await ask(database, DEAD_LETTERS, stream, group, [limit, after, programText(where)]);
  if (answer.cursor === "missing") throw cursorNotFound(stream, after ?? "");
  return answer.letters as DeadLetterRecord[];
};

export const delivery = async (
  database: Database,
  stream: string,
  group: string,
  partition: number,
  sequence: number,
  nowMs: number | null,
): Promise<DeliveryState> =>
  (await ask(database, DELIVERY, stream, group, [partition, sequence, nowMs])) as unknown as DeliveryState;
