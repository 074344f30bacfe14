import type { Group, GroupInfo, Lag, StreamInfo } from "@rheo/core";
import type { Problem } from "../http/problem.ts";
import { History, perSecond } from "./history.ts";

export interface StreamSample {
  readonly info: StreamInfo;
  /** Events appended per second since the look before; null when there was none. */
  readonly appendedPerSecond: number | null;
  readonly atMs: number;
}

export interface GroupSample {
  readonly group: Group;
  /** Null until it was looked at. Its lag is of the last look, its counts may be older. */
  readonly info: GroupInfo | null;
  /** When its counts were read. */
  readonly countedAtMs: number;
  readonly history: History;
}

/** What the looks have brought so far. */
export interface Snapshot {
  readonly streams: readonly StreamSample[];
  readonly groups: readonly GroupSample[];
  /** Why the last look was given up; null when it was not. */
  readonly problem: Problem | null;
  /** There are more streams or groups than are looked at. */
  readonly isPartial: boolean;
}

export const streamSample = (before: StreamSample | undefined, info: StreamInfo, atMs: number): StreamSample => {
  const isSame = before?.info.createdAt.getTime() === info.createdAt.getTime();
  const from = before === undefined || !isSame ? undefined : appendedTo(before.info);
  return { info, atMs, appendedPerSecond: perSecond(from, appendedTo(info), before ?? null, atMs) };
};

const appendedTo = ({ partitions }: StreamInfo): number => sumOf(partitions, "highWatermark");

/** A group of that name made anew has a history of its own. */
export const groupSample = (before: GroupSample | undefined, group: Group): GroupSample =>
  before !== undefined && before.group.createdAt.getTime() === group.createdAt.getTime()
    ? { ...before, group }
    : { group, info: null, countedAtMs: Number.NEGATIVE_INFINITY, history: new History() };

/** The sample with one look more; `counted` is null where the counts of the look before must do. */
export const lookedAt = (sample: GroupSample, { lag, partitions }: Lag, counted: GroupInfo | null, atMs: number): GroupSample => {
  const info = counted ?? sample.info;
  if (info === null) return sample;
  const position = { atMs, frontier: sumOf(partitions, "frontier"), highWatermark: sumOf(partitions, "highWatermark") };
  sample.history.add(position, { lag, inflight: info.inflight, retrying: info.retrying, deadLetters: info.deadLetters });
  const latest = { ...info, paused: sample.group.paused, lag, oldestUnsettledAt: lag === 0 ? null : info.oldestUnsettledAt };
  return { ...sample, info: latest, countedAtMs: counted === null ? sample.countedAtMs : atMs };
};

const sumOf = <Name extends string>(parts: readonly Readonly<Record<Name, number>>[], name: Name): number =>
  parts.reduce((sum, part) => sum + part[name], 0);
