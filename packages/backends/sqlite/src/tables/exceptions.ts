/** Rows of rheo_exceptions: one per delivery that left the happy path. */
import type { progress } from "@rheo/core/internal";
import { integer, integerOrNull, rowOf, text, textOrNull } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";
import { toAlone } from "./leases.ts";

type Exception = progress.Exception;

const COLUMNS =
  "sequence, state, attempt, takeovers, token, alone, consumer_id, leased_at_ms, due_at_ms, key, reason, stack, first_failed_at_ms, failed_at_ms";

const toException = rowOf(
  "rheo_exceptions",
  (row: Row): Exception => ({
    sequence: integer(row[0]),
    state: toState(text(row[1])),
    attempt: integer(row[2]),
    takeovers: integer(row[3]),
    token: integer(row[4]),
    alone: toAlone(row[5]),
    consumerId: textOrNull(row[6]),
    leasedAtMs: integer(row[7]),
    dueAtMs: integerOrNull(row[8]),
    key: textOrNull(row[9]),
    reason: textOrNull(row[10]),
    stack: textOrNull(row[11]),
    firstFailedAtMs: integerOrNull(row[12]),
    failedAtMs: integerOrNull(row[13]),
  }),
);

/** The schema allows no others. */
const toState = (state: string): Exception["state"] =>
  state === "retrying" || state === "leased" || state === "parked" ? state : "pending";

// cost: a seek in the primary key, and the rows returned
const ONE = `SELECT ${COLUMNS} FROM rheo_exceptions WHERE group_id = ? AND partition = ? AND sequence = ?`;
const ALL = `SELECT ${COLUMNS} FROM rheo_exceptions WHERE group_id = ? AND partition = ? ORDER BY sequence`;
const FIRST = "SELECT MIN(sequence) FROM rheo_exceptions WHERE group_id = ? AND partition = ?";
// cost: one seek in the heads, where triggers keep the count
const COUNT = "SELECT exceptions FROM rheo_heads WHERE group_id = ? AND partition = ?";
// cost: a seek in rheo_exceptions_by_due, and the rows returned
const DUE = `SELECT ${COLUMNS} FROM rheo_exceptions WHERE group_id = ? AND partition = ? AND due_at_ms <= ? ORDER BY due_at_ms, sequence LIMIT ?`;
const PUT = `INSERT INTO rheo_exceptions (group_id, partition, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (group_id, partition, sequence) DO UPDATE SET
  state = excluded.state, attempt = excluded.attempt, takeovers = excluded.takeovers, token = excluded.token, alone = excluded.alone,
  consumer_id = excluded.consumer_id, leased_at_ms = excluded.leased_at_ms, due_at_ms = excluded.due_at_ms, key = excluded.key,
  reason = excluded.reason, stack = excluded.stack, first_failed_at_ms = excluded.first_failed_at_ms, failed_at_ms = excluded.failed_at_ms`;
const DELETE = "DELETE FROM rheo_exceptions WHERE group_id = ? AND partition = ? AND sequence = ?";

export const exceptionAt = (sql: Sql, groupId: number, partition: number, sequence: number): Exception | null => {
  const row = sql.get(ONE, groupId, partition, sequence);
  return row === undefined ? null : toException(row);
};

export const exceptionsOf = (sql: Sql, groupId: number, partition: number): Exception[] =>
  sql.all(ALL, groupId, partition).map(toException);

export const dueExceptions = (sql: Sql, groupId: number, partition: number, nowMs: number, limit: number): Exception[] =>
  sql.all(DUE, groupId, partition, nowMs, limit).map(toException);

export const countExceptions = (sql: Sql, groupId: number, partition: number): number =>
  integer(sql.get(COUNT, groupId, partition)?.[0]);

export const firstException = (sql: Sql, groupId: number, partition: number): number | null =>
  integerOrNull(sql.get(FIRST, groupId, partition)?.[0]);

// cost: a walk over the entries of the partition, without their text; for inspection only
const RETRYING = "SELECT COUNT(*) FROM rheo_exceptions WHERE group_id = ? AND partition = ? AND state = 'retrying'";
// cost: what is in flight by itself, by rheo_exceptions_leased
const HELD =
  "SELECT consumer_id, COUNT(*) FROM rheo_exceptions WHERE group_id = ? AND partition = ? AND state = 'leased' AND due_at_ms > ? GROUP BY consumer_id";

export const tallyExceptions = (sql: Sql, groupId: number, partition: number, nowMs: number): progress.ExceptionTally => ({
  retrying: integer(sql.get(RETRYING, groupId, partition)?.[0]),
  held: sql
    .all(HELD, groupId, partition, nowMs)
    .map((row) => ({ consumerId: textOrNull(row[0]) ?? "", leases: integer(row[1]) })),
});

export const putException = (sql: Sql, groupId: number, partition: number, exception: Exception): void =>
  void sql.run(
    PUT,
    groupId,
    partition,
    exception.sequence,
    exception.state,
    exception.attempt,
    exception.takeovers,
    exception.token,
    exception.alone,
    exception.consumerId,
    exception.leasedAtMs,
    exception.dueAtMs,
    exception.key,
    exception.reason,
    exception.stack,
    exception.firstFailedAtMs,
    exception.failedAtMs,
  );

export const deleteException = (sql: Sql, groupId: number, partition: number, sequence: number): void =>
  void sql.run(DELETE, groupId, partition, sequence);
