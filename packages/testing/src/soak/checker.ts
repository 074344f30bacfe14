import { checkDelivery, finishOf } from "./check-delivery.ts";
import type { History } from "./history.ts";

/** What the store says once everything has drained, and what the harness knows by itself. */
export interface SoakEnd {
  /** By group. */
  readonly lag: Readonly<Record<string, number>>;
  readonly leases: Readonly<Record<string, number>>;
  /** By partition: the last sequence. */
  readonly highWatermarks: readonly number[];
  /** Sequences whose append was answered, by partition. */
  readonly appended: readonly {
    readonly partition: number;
    readonly sequence: number;
    readonly key: string;
    readonly rejects: boolean;
  }[];
  /** Dead letters, by group. */
  readonly deadLetters: Readonly<Record<string, readonly { readonly partition: number; readonly sequence: number }[]>>;
  /** What `lag` said while it ran. `from` and `to` in µs. */
  readonly frontiers: readonly {
    readonly group: string;
    readonly from: number;
    readonly to: number;
    /** By partition. */
    readonly frontier: readonly number[];
  }[];
}

export interface CheckOptions {
  readonly groups: readonly string[];
  /** Those that keep the order of keys (G9). */
  readonly ordered: readonly string[];
  readonly maxAttempts: number;
}

/** Everything that was wrong; empty when nothing was. */
export const checkSoak = (history: History, end: SoakEnd, options: CheckOptions): string[] => {
  const faults: string[] = [];
  for (const group of options.groups) {
    const unknownFetches = history.unknownFetches.get(group) ?? [];
    for (const delivery of history.of(group)) faults.push(...checkDelivery(delivery, options.maxAttempts, unknownFetches));
    faults.push(
      ...checkNothingLost(history, end, group),
      ...checkDeadLetters(end, group),
      ...checkFrontiers(history, end, group),
    );
  }
  for (const group of options.ordered) faults.push(...checkOrder(history, end, group));
  return [...faults, ...checkLog(end)];
};

/** L1: what was answered is there, consecutive from 1. */
const checkLog = ({ appended, highWatermarks }: SoakEnd): string[] => {
  const faults: string[] = [];
  highWatermarks.forEach((highWatermark, partition) => {
    const sequences = new Set(appended.filter((one) => one.partition === partition).map(({ sequence }) => sequence));
    if (sequences.size !== highWatermark)
      faults.push(`partition ${partition} has ${highWatermark} events, ${sequences.size} were appended`);
    for (const sequence of sequences) if (sequence > highWatermark) faults.push(`the event ${partition}@${sequence} is gone`);
  });
  return faults;
};

/** P1: nothing is open, and each event was acked, or rejected as it asks for, by a member that had handled it. */
const checkNothingLost = (history: History, end: SoakEnd, group: string): string[] => {
  const faults: string[] = [];
  if (end.lag[group] !== 0) faults.push(`${group} did not drain: lag ${end.lag[group]}`);
  if (end.leases[group] !== 0) faults.push(`${group} holds ${end.leases[group]} leases after its end`);
  for (const { partition, sequence, rejects } of end.appended) {
    const delivery = history.get(group, partition, sequence);
    const finish = delivery === undefined ? undefined : finishOf(delivery);
    if (finish === undefined) faults.push(`${group} ${partition}@${sequence}: lost: nobody settled it`);
    else if (finish.outcome !== (rejects ? "reject" : "ack"))
      faults.push(`${group} ${partition}@${sequence}: ended by ${finish.outcome}`);
  }
  return faults;
};

/** T5 T6: dead is what asked for it, and nothing else. */
const checkDeadLetters = (end: SoakEnd, group: string): string[] => {
  const name = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
    `${partition}@${sequence}`;
  const expected = new Set(end.appended.filter(({ rejects }) => rejects).map(name));
  const letters = (end.deadLetters[group] ?? []).map(name);
  const found = new Set(letters);
  return [
    ...(letters.length === found.size ? [] : [`${group} has ${letters.length - found.size} dead letters twice`]),
    ...[...found]
      .filter((place) => !expected.has(place))
      .map((place) => `${group} ${place}: a dead letter that it did not ask for`),
    ...[...expected].filter((place) => !found.has(place)).map((place) => `${group} ${place}: rejected, and no dead letter`),
  ];
};

/** T2 P1: a frontier is never over a hole, and never goes back. */
const checkFrontiers = (history: History, end: SoakEnd, group: string): string[] => {
  const faults: string[] = [];
  end.highWatermarks.forEach((highWatermark, partition) => {
    /** By sequence: when the last settle up to there can have been done, in µs. */
    const finished = [0];
    for (let sequence = 1; sequence <= highWatermark; sequence++) {
      const delivery = history.get(group, partition, sequence);
      const from = delivery === undefined ? undefined : finishOf(delivery)?.from;
      finished.push(Math.max(finished[sequence - 1] ?? 0, from ?? Number.POSITIVE_INFINITY));
    }
    let before = 0;
    for (const sample of end.frontiers) {
      if (sample.group !== group) continue;
      const frontier = sample.frontier[partition] ?? 0;
      if (frontier < before) faults.push(`the frontier of ${group}/${partition} went back from ${before} to ${frontier}`);
      if ((finished[frontier] ?? Number.POSITIVE_INFINITY) > sample.to)
        faults.push(`the frontier of ${group}/${partition} was ${frontier}, over something that was not settled`);
      before = frontier;
    }
  });
  return faults;
};

/** G9: an event of a key is leased only when the one before it is finished. */
const checkOrder = (history: History, end: SoakEnd, group: string): string[] => {
  const faults: string[] = [];
  const last = new Map<string, { readonly place: string; readonly finishedFrom: number }>();
  const inOrder = [...end.appended].sort((a, b) => a.partition - b.partition || a.sequence - b.sequence);
  for (const { partition, sequence, key } of inOrder) {
    const delivery = history.get(group, partition, sequence);
    if (delivery === undefined) continue;
    const before = last.get(key);
    const leasedTo = Math.min(...delivery.granted.map(({ to }) => to));
    if (before !== undefined && leasedTo < before.finishedFrom)
      faults.push(`${group} ${partition}@${sequence}: leased before ${before.place}, the earlier event of its key, was finished`);
    last.set(key, { place: `${partition}@${sequence}`, finishedFrom: finishOf(delivery)?.from ?? 0 });
  }
  return faults;
};
