/** Rows of rheo_members: which consumers of a group were seen, and when. */
import { integer, text } from "../columns.ts";
import type { Sql } from "../sql.ts";
import type { Unit } from "../transaction.ts";

/** A member's row is written at most this often, in ms. */
const TOUCH_EVERY_MS = 1_000;

/** A member that holds nothing is forgotten after this, in ms, or after two lease lengths if they are longer. */
const KEPT_MS = 86_400_000;

const TOUCH = `INSERT INTO rheo_members (group_id, consumer_id, last_seen_at_ms) VALUES (?, ?, ?)
ON CONFLICT (group_id, consumer_id) DO UPDATE SET last_seen_at_ms = excluded.last_seen_at_ms`;
const IS_KNOWN = "SELECT 1 FROM rheo_members WHERE group_id = ? AND consumer_id = ?";
// cost: the members of the group
const FORGET = `DELETE FROM rheo_members WHERE group_id = ?1 AND last_seen_at_ms < ?2
AND consumer_id NOT IN (SELECT consumer_id FROM rheo_leases WHERE group_id = ?1)
AND consumer_id NOT IN (SELECT consumer_id FROM rheo_exceptions WHERE group_id = ?1 AND state = 'leased' AND consumer_id IS NOT NULL)`;
const ALL = "SELECT consumer_id, last_seen_at_ms FROM rheo_members WHERE group_id = ? ORDER BY consumer_id";

/** When this process last wrote each member, so that a busy one is not written with every fetch. By group id, which is never used again. */
export type Touches = Map<number, Map<string, number>>;

/** Consumer names remembered per group before the memory is dropped. Dropping costs one write each. */
const REMEMBERED = 10_000;

export const touchMember = (unit: Unit, touches: Touches, groupId: number, leaseMs: number, consumerId: string): void => {
  const { sql, nowMs } = unit;
  const lastMs = touches.get(groupId)?.get(consumerId);
  if (lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < TOUCH_EVERY_MS) return;
  // new names come with restarts, so that is when old ones are cleared away
  if (sql.get(IS_KNOWN, groupId, consumerId) === undefined) sql.run(FORGET, groupId, nowMs - Math.max(KEPT_MS, 2 * leaseMs));
  sql.run(TOUCH, groupId, consumerId, nowMs);
  unit.afterCommit(() => remember(touches, groupId, consumerId, nowMs));
};

const remember = (touches: Touches, groupId: number, consumerId: string, nowMs: number): void => {
  const known = touches.get(groupId);
  const members = known === undefined || known.size >= REMEMBERED ? new Map<string, number>() : known;
  touches.set(groupId, members.set(consumerId, nowMs));
};

export const membersOf = (sql: Sql, groupId: number): { consumerId: string; lastSeenAtMs: number }[] =>
  sql
    .all(ALL, groupId)
    .map(([consumerId, lastSeenAtMs]) => ({ consumerId: text(consumerId), lastSeenAtMs: integer(lastSeenAtMs) }));
