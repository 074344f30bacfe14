/** Rows of rheo_dead_letters. */
import type { progress } from "@rheo/core/internal";
import { integer, rowOf, text, textOrNull } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

type DeadLetter = progress.DeadLetter;

const COLUMNS = "sequence, event_id, attempts, reason, stack, consumer_id, first_failed_at_ms, dead_at_ms";

const toLetter = rowOf(
  "rheo_dead_letters",
  (row: Row): DeadLetter => ({
    sequence: integer(row[0]),
    eventId: text(row[1]),
    attempts: integer(row[2]),
    reason: text(row[3]),
    stack: textOrNull(row[4]),
    consumerId: text(row[5]),
    firstFailedAtMs: integer(row[6]),
    deadAtMs: integer(row[7]),
  }),
);

// cost: a seek in the primary key, and the rows returned
const ONE = `SELECT ${COLUMNS} FROM rheo_dead_letters WHERE group_id = ? AND partition = ? AND sequence = ?`;
const PAGE = `SELECT ${COLUMNS} FROM rheo_dead_letters WHERE group_id = ? AND partition = ? AND sequence > ? ORDER BY sequence LIMIT ?`;
const COUNT = "SELECT COUNT(*) FROM rheo_dead_letters WHERE group_id = ? AND partition = ?";
// cost: a seek in rheo_dead_letters_by_event
const PLACE =
  "SELECT partition, sequence FROM rheo_dead_letters WHERE group_id = ? AND event_id = ? ORDER BY partition, sequence LIMIT 1";
const PUT = `INSERT OR REPLACE INTO rheo_dead_letters (group_id, partition, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const DELETE = "DELETE FROM rheo_dead_letters WHERE group_id = ? AND partition = ? AND sequence = ?";

export const deadLetterAt = (sql: Sql, groupId: number, partition: number, sequence: number): DeadLetter | null => {
  const row = sql.get(ONE, groupId, partition, sequence);
  return row === undefined ? null : toLetter(row);
};

/** By sequence, above `after`. */
export const deadLettersOf = (sql: Sql, groupId: number, partition: number, after: number, limit: number): DeadLetter[] =>
  sql.all(PAGE, groupId, partition, after, limit).map(toLetter);

export const countDeadLetters = (sql: Sql, groupId: number, partition: number): number =>
  integer(sql.get(COUNT, groupId, partition)?.[0]);

/** Where the dead letter of an event stands; null when there is none. */
export const placeOfDeadLetter = (sql: Sql, groupId: number, eventId: string): { partition: number; sequence: number } | null => {
  const row = sql.get(PLACE, groupId, eventId);
  return row === undefined ? null : { partition: integer(row[0]), sequence: integer(row[1]) };
};

export const putDeadLetter = (sql: Sql, groupId: number, partition: number, letter: DeadLetter): void =>
  void sql.run(
    PUT,
    groupId,
    partition,
    letter.sequence,
    letter.eventId,
    letter.attempts,
    letter.reason,
    letter.stack,
    letter.consumerId,
    letter.firstFailedAtMs,
    letter.deadAtMs,
  );

export const deleteDeadLetter = (sql: Sql, groupId: number, partition: number, sequence: number): void =>
  void sql.run(DELETE, groupId, partition, sequence);
