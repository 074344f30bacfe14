import type { LeaseInfo } from "@rheo/core";

/** Deliveries of one partition that are held under one token. */
export interface LeaseRun {
  readonly partition: number;
  readonly token: number;
  readonly consumerId: string;
  readonly attempt: number;
  readonly count: number;
  /** Held sequences as [first, last], by sequence. What lies between two of them has been settled. */
  readonly spans: readonly (readonly [number, number])[];
  readonly leasedAtMs: number;
  /** Of the first of them to run out. */
  readonly expiresAtMs: number;
}

/** Spans of one run that are told apart; what is beyond is told as one. */
const MOST_SPANS = 60;

/** Leases, by (partition, sequence), as runs by (partition, token). */
export const leaseRuns = (leases: readonly LeaseInfo[]): LeaseRun[] => {
  const byToken = new Map<string, LeaseInfo[]>();
  for (const lease of leases) {
    const key = `${lease.partition}.${lease.token}`;
    const run = byToken.get(key);
    if (run === undefined) byToken.set(key, [lease]);
    else run.push(lease);
  }
  return [...byToken.values()].flatMap(runOf);
};

const runOf = (leases: readonly LeaseInfo[]): LeaseRun[] => {
  const [first] = leases;
  if (first === undefined) return [];
  const { partition, token, consumerId, attempt, leasedAt } = first;
  const expiresAtMs = leases.reduce((least, { expiresAt }) => Math.min(least, expiresAt.getTime()), Number.POSITIVE_INFINITY);
  const spans = spansOf(leases.map(({ sequence }) => sequence));
  return [{ partition, token, consumerId, attempt, count: leases.length, spans, leasedAtMs: leasedAt.getTime(), expiresAtMs }];
};

const spansOf = (sequences: readonly number[]): [number, number][] => {
  const spans: [number, number][] = [];
  for (const sequence of sequences) {
    const last = spans.at(-1);
    if (last !== undefined && (sequence === last[1] + 1 || spans.length === MOST_SPANS)) last[1] = sequence;
    else spans.push([sequence, sequence]);
  }
  return spans;
};
