/** Rows of rheo_leases: a group has one per batch in flight. */
import { progress } from "@rheo/core/internal";
import { bytesOrNull, integer, integerOrNull, rowOf, text } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

type RangeLease = progress.RangeLease;

const COLUMNS =
  "token, first_sequence, last_sequence, closed, open, attempt, takeovers, alone, consumer_id, leased_at_ms, expires_at_ms, first_failed_at_ms";

const toLease = rowOf(
  "rheo_leases",
  (row: Row): RangeLease => ({
    token: integer(row[0]),
    first: integer(row[1]),
    last: integer(row[2]),
    closed: bytesOrNull(row[3]),
    open: integer(row[4]),
    attempt: integer(row[5]),
    takeovers: integer(row[6]),
    alone: toAlone(row[7]),
    consumerId: text(row[8]),
    leasedAtMs: integer(row[9]),
    expiresAtMs: integer(row[10]),
    firstFailedAtMs: integerOrNull(row[11]),
  }),
);

const toLeases = (rows: readonly Row[], partition: number): RangeLease[] =>
  rows.map((row) => progress.storedLease(partition, toLease(row)));

export const toAlone = (value: unknown): progress.Alone => (value === 1 || value === 2 ? value : 0);

// cost: the leases of the partition, which are few
const ALL = `SELECT ${COLUMNS} FROM rheo_leases WHERE group_id = ? AND partition = ? ORDER BY first_sequence`;
const EXPIRED = `SELECT ${COLUMNS} FROM rheo_leases WHERE group_id = ? AND partition = ? AND expires_at_ms <= ? ORDER BY first_sequence`;
// cost: a seek in the primary key
const OF_TOKEN = `SELECT ${COLUMNS} FROM rheo_leases WHERE group_id = ? AND partition = ? AND token = ? ORDER BY first_sequence`;
const PUT = `INSERT OR REPLACE INTO rheo_leases (group_id, partition, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const DELETE = "DELETE FROM rheo_leases WHERE group_id = ? AND partition = ? AND token = ? AND first_sequence = ?";

export const leasesOf = (sql: Sql, groupId: number, partition: number): RangeLease[] =>
  toLeases(sql.all(ALL, groupId, partition), partition);

export const expiredLeases = (sql: Sql, groupId: number, partition: number, nowMs: number): RangeLease[] =>
  toLeases(sql.all(EXPIRED, groupId, partition, nowMs), partition);

export const leasesOfToken = (sql: Sql, groupId: number, partition: number, token: number): RangeLease[] =>
  toLeases(sql.all(OF_TOKEN, groupId, partition, token), partition);

export const putLease = (sql: Sql, groupId: number, partition: number, lease: RangeLease): void =>
  void sql.run(
    PUT,
    groupId,
    partition,
    lease.token,
    lease.first,
    lease.last,
    lease.closed,
    lease.open,
    lease.attempt,
    lease.takeovers,
    lease.alone,
    lease.consumerId,
    lease.leasedAtMs,
    lease.expiresAtMs,
    lease.firstFailedAtMs,
  );

export const deleteLease = (sql: Sql, groupId: number, partition: number, token: number, first: number): void =>
  void sql.run(DELETE, groupId, partition, token, first);
