/** One look at a group: which partitions have anything to claim. */
import { progress } from "@rheo/core/internal";
import { integer, integerOrNull, isTrue } from "./columns.ts";
import type { Row } from "./driver/driver.ts";
import type { Sql } from "./sql.ts";
import type { GroupRow } from "./tables/groups.ts";

/** Rows tell what they are by their first column: 0 a partition with a backlog, 1 its leases, 2 its exceptions. */
const KIND = { backlog: 0, leases: 1, exceptions: 2 } as const;

/**
 * Cost: the partitions of the group, its leases in flight, and three seeks in each partition that has exceptions. Nothing
 * depends on the history or the backlog.
 */
const SURVEY = `
SELECT ${KIND.backlog}, h.partition AS a, h.cursor AS b, h.token AS c, h.reset_token AS d, h.skipped AS e, p.largest_bytes AS f, h.start AS g, p.high_watermark AS h
FROM rheo_heads h LEFT JOIN rheo_partitions p ON p.stream_id = ?2 AND p.partition = h.partition
WHERE h.group_id = ?1 AND p.high_watermark IS NOT h.cursor
UNION ALL
SELECT ${KIND.leases}, partition, SUM(IIF(expires_at_ms > ?3, open, 0)), MAX(alone) > 0, MIN(expires_at_ms) <= ?3, NULL, NULL, NULL, NULL
FROM rheo_leases WHERE group_id = ?1 GROUP BY partition
UNION ALL
SELECT ${KIND.exceptions}, h.partition,
  (SELECT COUNT(*) FROM rheo_exceptions x WHERE x.group_id = ?1 AND x.partition = h.partition AND x.state = 'leased' AND x.due_at_ms > ?3),
  EXISTS (SELECT 1 FROM rheo_exceptions x WHERE x.group_id = ?1 AND x.partition = h.partition AND x.state = 'leased' AND x.alone > 0),
  EXISTS (SELECT 1 FROM rheo_exceptions x WHERE x.group_id = ?1 AND x.partition = h.partition AND x.due_at_ms <= ?3), NULL, NULL, NULL, NULL
FROM rheo_heads h
WHERE h.group_id = ?1 AND h.exceptions > 0`;

/** A head that the survey came by, with what reading its events needs. */
interface SurveyedHead {
  readonly partition: number;
  readonly head: progress.Head;
  readonly largestBytes: number;
}

export interface Surveyed {
  readonly survey: progress.Survey;
  readonly heads: readonly SurveyedHead[];
  /** Partitions with exceptions. */
  readonly exceptional: ReadonlySet<number>;
  /** Nothing to claim, nothing in flight and no exceptions, in any partition. */
  readonly isBare: boolean;
}

export const surveyGroup = (sql: Sql, group: GroupRow, nowMs: number, partitions: readonly number[] | null): Surveyed => {
  const wanted = partitions === null ? null : new Set(partitions);
  const candidates = new Map<number, { -readonly [Name in keyof progress.Candidate]: progress.Candidate[Name] }>();
  const heads: SurveyedHead[] = [];
  const exceptional = new Set<number>();
  let inflight = 0;
  let alone = false;
  const candidate = (partition: number): { backlog: boolean; due: boolean; expired: boolean; exceptions: boolean } => {
    const known = candidates.get(partition) ?? { partition, backlog: false, due: false, expired: false, exceptions: false };
    if (wanted === null || wanted.has(partition)) candidates.set(partition, known);
    return known;
  };
  const rows = sql.all(SURVEY, group.groupId, group.streamId, nowMs);
  for (const row of rows) {
    const partition = integer(row[1]);
    if (row[0] === KIND.backlog) {
      progress.checkCursor(group.record, partition, integer(row[2]), integerOrNull(row[8]) ?? 0);
      candidate(partition).backlog = true;
      heads.push(toHead(partition, row));
      continue;
    }
    inflight += integer(row[2]);
    alone ||= isTrue(row[3]);
    const due = isTrue(row[4]);
    if (row[0] === KIND.exceptions) {
      exceptional.add(partition);
      Object.assign(candidate(partition), { due, exceptions: true });
    } else if (due) candidate(partition).expired = true;
  }
  const sorted = [...candidates.values()].sort((a, b) => a.partition - b.partition);
  // an exception that waits for its time is nothing to look at; but what is parked behind its key has no time, and may be free
  const ordered = group.record.options.ordering !== "none";
  const found = sorted.filter((one) => one.backlog || one.expired || one.due || (ordered && one.exceptions));
  return { survey: { candidates: found, inflight, alone }, heads, exceptional, isBare: rows.length === 0 };
};

const toHead = (partition: number, row: Row): SurveyedHead => ({
  partition,
  head: {
    cursor: integer(row[2]),
    token: integer(row[3]),
    resetToken: integer(row[4]),
    skipped: integer(row[5]),
    start: integer(row[7]),
  },
  largestBytes: integer(row[6]),
});
