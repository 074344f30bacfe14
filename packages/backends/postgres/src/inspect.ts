/** Looking at progress: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
import type {
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  GroupStats,
  Holder,
  LeaseRecord,
  PartitionProgress,
} from "@rheo/core";
import { programText } from "@rheo/core/internal";
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

export const progress = async (database: Database, stream: string, group: string): Promise<PartitionProgress[]> =>
  (await ask(database, PROGRESS, stream, group, [])).progress as PartitionProgress[];

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
