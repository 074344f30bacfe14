/** Rows of rheo_revocations: why positions of a lease were taken away. At most REVOCATIONS_KEPT per group and partition. */
import { progress } from "@rheo/core/internal";
import { bytesOrNull, integer } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

type Revocation = progress.Revocation;

const toRevocation = (row: Row): Revocation => ({
  token: integer(row[0]),
  first: integer(row[1]),
  last: integer(row[2]),
  closed: bytesOrNull(row[3]),
  why: row[4] === "reset" ? "reset" : "reclaimed",
});

// cost: a seek in the primary key
const OF_TOKEN =
  "SELECT token, first_sequence, last_sequence, closed, why FROM rheo_revocations WHERE group_id = ? AND partition = ? AND token = ?";
const PUT =
  "INSERT OR REPLACE INTO rheo_revocations (group_id, partition, token, first_sequence, last_sequence, closed, why) VALUES (?, ?, ?, ?, ?, ?, ?)";
// cost: the revocations of the partition
const EXCESS = `SELECT token, first_sequence FROM rheo_revocations WHERE group_id = ? AND partition = ? ORDER BY token DESC, first_sequence DESC LIMIT -1 OFFSET ${progress.REVOCATIONS_KEPT}`;
const DELETE = "DELETE FROM rheo_revocations WHERE group_id = ? AND partition = ? AND token = ? AND first_sequence = ?";
const OLDEST = "SELECT COUNT(*), MIN(token) FROM rheo_revocations WHERE group_id = ? AND partition = ?";

export const revocationsOfToken = (sql: Sql, groupId: number, partition: number, token: number): Revocation[] =>
  sql.all(OF_TOKEN, groupId, partition, token).map(toRevocation);

/** Adds one and drops those with the lowest tokens beyond the bound. */
export const addRevocation = (sql: Sql, groupId: number, partition: number, revocation: Revocation): void => {
  sql.run(PUT, groupId, partition, revocation.token, revocation.first, revocation.last, revocation.closed, revocation.why);
  for (const [token, first] of sql.all(EXCESS, groupId, partition))
    sql.run(DELETE, groupId, partition, integer(token), integer(first));
};

/** Once the bound is reached, the lowest token held; else 0. */
export const oldestRevocation = (sql: Sql, groupId: number, partition: number): number => {
  const [count, oldest] = sql.get(OLDEST, groupId, partition) ?? [];
  return integer(count) < progress.REVOCATIONS_KEPT ? 0 : integer(oldest);
};
