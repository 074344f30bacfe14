/** Arguments and answers of the exchange script. */
import type { ExchangeAnswer, ExchangeRequest, Grant, Ordering } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { Argument } from "./connection.ts";
import { toRecordOf } from "./lines.ts";
import { sequencesOf } from "./positions.ts";
import { settlementArguments, toResults } from "./settle.ts";
import { type Part, placesOf } from "./shards.ts";

/** What came of an exchange: the port's answer, and what this process wants to know besides. */
export interface Exchanged {
  readonly answer: ExchangeAnswer;
  readonly ordering: Ordering;
  readonly turn: Readonly<progress.Turn>;
}

/** What the group holds in partitions that are not at hand, and how much of a fetch is for new events; absent on a single server. */
export interface Elsewhere {
  readonly inflight: number;
  readonly alone: boolean;
  readonly held: number;
  readonly searching: boolean;
  readonly sinceMs: number | null;
  /** What this fetch was granted there. */
  readonly granted: number;
  /** The token that this fetch has in the partition at hand; -1: none. */
  readonly token: number;
  readonly reserved: number;
}

export const exchangeArguments = (
  { settlements, fetch }: ExchangeRequest,
  partitions: readonly number[],
  turn: Readonly<progress.Turn>,
  count: number,
  elsewhere: Elsewhere | null = null,
): Argument[] => [
  settlements.length,
  fetch?.limit ?? "",
  fetch?.maxBytes ?? "",
  fetch?.consumerId ?? "",
  fetch?.leaseMs ?? "",
  placesOf(fetch?.partitions ?? null, partitions),
  turn.partition,
  turn.dueStreak,
  elsewhere === null
    ? ""
    : `${elsewhere.inflight} ${Number(elsewhere.alone)} ${elsewhere.held} ${Number(elsewhere.searching)} ${elsewhere.sinceMs ?? "-"} ${elsewhere.granted} ${elsewhere.token}`,
  elsewhere?.reserved ?? "",
  count,
  fetch?.runLimit ?? "",
  ...settlementArguments(settlements, (partition) => {
    const place =
      partitions.length > partition && partitions[partition] === partition ? partition : partitions.indexOf(partition);
    return place === -1 ? partitions.length : place;
  }),
];

/** See `exchange.lua.ts`. */
type Answer = readonly [
  state: string,
  now: number,
  ordering: Ordering,
  settled: readonly string[],
  partition: number,
  streak: number,
  more: number,
  died: readonly unknown[],
  expires: number,
  grants: readonly (number | string)[],
  texts: readonly string[],
  closed?: number,
  suspects?: number,
];

export interface Fetched extends Exchanged {
  /** Nothing was found where a bound of its own ended the fetch. */
  readonly isUnfinished: boolean;
  /** Nothing more may be given (T5). */
  readonly isClosed: boolean;
  /** Crash suspects among what was given. */
  readonly suspects: number;
}

export const toExchanged = ({ settlements }: ExchangeRequest, part: Part): Fetched => {
  const [, now, ordering, settled, partition, streak, more, died, expires, grants, texts, closed, suspects] =
    part.answer as Answer; // our own script wrote it
  return {
    answer: {
      settled: settlements.map((settlement, index) => toResults(settlement, settled[index] ?? "G")),
      grants: toGrants(part.partitions, grants, texts, now, expires),
      more: more === 1,
      died: toDied(part.partitions, died),
    },
    ordering,
    turn: { partition, dueStreak: streak },
    isUnfinished: more === 1 && grants.length === 0,
    isClosed: closed === 1,
    suspects: suspects ?? 0,
  };
};

const toGrants = (
  partitions: readonly number[],
  grants: readonly (number | string)[],
  texts: readonly string[],
  leasedAtMs: number,
  expiresAtMs: number,
): Grant[] => {
  const found: Grant[] = [];
  let next = 0;
  for (let at = 0; at < grants.length; at += 4) {
    const partition = partitions[Number(grants[at])] ?? 0;
    const events = sequencesOf(String(grants[at + 3])).map((sequence) => {
      next += 2;
      return toRecordOf(texts[next - 2] ?? "", texts[next - 1] ?? "", partition, sequence);
    });
    found.push({ partition, token: Number(grants[at + 1]), attempt: Number(grants[at + 2]), leasedAtMs, expiresAtMs, events });
  }
  return found;
};

const toDied = (partitions: readonly number[], died: readonly unknown[]): ExchangeAnswer["died"] => {
  const found: { partition: number; sequence: number; reason: string }[] = [];
  for (let at = 0; at < died.length; at += 3)
    found.push({
      partition: partitions[Number(died[at])] ?? 0,
      sequence: Number(died[at + 1]),
      reason: String(died[at + 2]),
    });
  return found;
};

export const nothing = ({ settlements }: ExchangeRequest, turn: Readonly<progress.Turn>): Exchanged => ({
  answer: { settled: progress.allGone(settlements), grants: [], more: false, died: [] },
  ordering: "none",
  turn,
});
