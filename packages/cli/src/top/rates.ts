import type { GroupInfo } from "@rheo/core";
import type { GroupSample, Sample } from "./sample.ts";

/** One group in `rheo top`, in this form as JSON. */
export interface TopRow
  extends Pick<GroupInfo, "stream" | "paused" | "lag" | "inflight" | "retrying" | "deadLetters" | "members"> {
  readonly group: string;
  /** Over the last seconds; null at the first look. */
  readonly appendedPerSecond: number | null;
  readonly settledPerSecond: number | null;
  readonly oldestUnsettledAt: Date | null;
}

/** Looks that rates are taken over: enough to even out batches, few enough to show what changes. */
const WINDOW = 6;

/** Remembers the last looks. */
export class Rates {
  #samples: readonly Sample[] = [];

  /** The rows of this look, with rates since the oldest that is remembered. */
  rows(sample: Sample): readonly TopRow[] {
    this.#samples = [...this.#samples, sample].slice(-WINDOW);
    const [oldest] = this.#samples;
    const before = new Map(oldest === undefined || oldest === sample ? [] : oldest.groups.map((group) => [nameOf(group), group]));
    const seconds = (sample.atMs - (oldest?.atMs ?? sample.atMs)) / 1_000;
    return sample.groups.map((group) => toRow(group, before.get(nameOf(group)), seconds));
  }
}

const nameOf = ({ info }: GroupSample): string => `${info.stream}/${info.name}`;

const toRow = ({ info, appended, settled }: GroupSample, before: GroupSample | undefined, seconds: number): TopRow => {
  const { stream, name: group, paused, lag, inflight, retrying, deadLetters, members, oldestUnsettledAt } = info;
  return {
    ...{ stream, group, paused, lag, inflight, retrying, deadLetters, members, oldestUnsettledAt },
    appendedPerSecond: before === undefined ? null : perSecond(appended - before.appended, seconds),
    settledPerSecond: before === undefined ? null : perSecond(settled - before.settled, seconds),
  };
};

/** A replay or reset takes frontiers back, which is no rate. */
const perSecond = (events: number, seconds: number): number | null =>
  seconds <= 0 ? null : Math.max(0, Math.round((events * 10) / seconds) / 10);
