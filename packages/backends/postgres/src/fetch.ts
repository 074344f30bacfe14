import type { EventRecord, ExchangeAnswer, ExchangeRequest, Grant, Ordering } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { type Answer, checkFound } from "./answers.ts";
import type { Row, Statement, Value } from "./database.ts";
import { type SettledRuns, toResults, toSettlements } from "./settle.ts";
import { BETWEEN } from "./sql/fetch.sql.ts";

export const EXCHANGE: Statement = {
  text: "SELECT * FROM @.settle_and_fetch($1, $2, $3::jsonb, $4::integer, $5::bigint, $6, $7::bigint, $8::integer[], $9::integer, $10::integer, $11::integer, $12::bigint, $13::integer)",
  writes: true,
  often: true,
};

/** The first row's: see `fetch.sql.ts`. */
interface Header extends Answer {
  readonly ordering?: Ordering;
  readonly settled?: SettledRuns;
  readonly turn?: number;
  readonly streak?: number;
  readonly more?: boolean;
  readonly died?: ExchangeAnswer["died"];
  readonly leasedAt?: number;
  readonly expiresAt?: number;
  /** A partition that somebody else held, where nothing could be given because of that. */
  readonly skipped?: number;
  readonly grants?:
    | readonly (readonly [partition: number, token: number, attempt: number, count: number, first: number])[]
    | null;
}

/** What came of an exchange: the port's answer, and what this process wants to know besides. */
export interface Exchanged {
  readonly answer: ExchangeAnswer;
  readonly ordering: Ordering;
  readonly streamId: number | null;
  readonly turn: Readonly<progress.Turn>;
  /** A partition to wait for, in a call of its own; null: none. */
  readonly waitFor: number | null;
}

export const exchangeValues = (
  { stream, group, settlements, fetch }: ExchangeRequest,
  turn: Readonly<progress.Turn>,
  waitFor: number | null,
  nowMs: number | null,
): Value[] => [
  stream,
  group,
  toSettlements(settlements),
  fetch?.limit ?? null,
  fetch?.maxBytes ?? null,
  fetch?.consumerId ?? null,
  fetch?.leaseMs ?? null,
  fetch?.partitions ?? null,
  turn.partition,
  turn.dueStreak,
  waitFor,
  nowMs,
  fetch?.runLimit ?? null,
];

/** @throws stream_not_found, group_not_found - only where something was to be fetched */
export const toExchanged = (request: ExchangeRequest, rows: readonly Row[], before: Readonly<progress.Turn>): Exchanged => {
  const { stream, group, settlements, fetch } = request;
  const header = JSON.parse(rows[0]?.[0] ?? "{}") as Header; // our own function wrote it
  if (header.missing !== undefined) {
    if (fetch !== null) checkFound(header, stream, group);
    return {
      answer: { settled: progress.allGone(settlements), grants: [], more: false, died: [] },
      ordering: "none",
      streamId: null,
      turn: before,
      waitFor: null,
    };
  }
  return {
    answer: {
      settled: toResults(settlements, header.settled ?? []),
      grants: toGrants(header, rows),
      more: header.more ?? false,
      died: header.died ?? [],
    },
    ordering: header.ordering ?? "none",
    streamId: header.stream ?? null,
    turn: { partition: header.turn ?? before.partition, dueStreak: header.streak ?? before.dueStreak },
    waitFor: header.skipped ?? null,
  };
};

const toGrants = ({ grants, leasedAt = 0, expiresAt = 0 }: Header, rows: readonly Row[]): Grant[] =>
  (grants ?? [])
    .map(([partition, token, attempt, count, first], index) => {
      const events = toRecords(rows[index + 1] ?? [], partition, first, count);
      return { partition, token, attempt, leasedAtMs: leasedAt, expiresAtMs: expiresAt, events };
    })
    .filter(({ events }) => events.length > 0); // what is not there has been told as skipped

/** Of a row of the type grant_row. */
const toRecords = (row: Row, partition: number, first: number, count: number): EventRecord[] => {
  const [, sequenceTexts = null, idTexts, timeTexts, typeTexts, keyTexts, metadataTexts, payloadTexts] = row;
  // our own function wrote them, a value for each event
  const sequences = sequenceTexts === null ? null : (JSON.parse(sequenceTexts) as number[]);
  const ids = JSON.parse(idTexts ?? "[]") as string[];
  const times = JSON.parse(timeTexts ?? "[]") as number[];
  const types = JSON.parse(typeTexts ?? "[]") as (string | null)[];
  const keys = JSON.parse(keyTexts ?? "[]") as (string | null)[];
  const metadata = metadataTexts?.split(BETWEEN) ?? [];
  const payloads = payloadTexts?.split(BETWEEN) ?? [];
  const records = new Array<EventRecord>(sequences?.length ?? count);
  for (let at = 0; at < records.length; at++) {
    records[at] = {
      id: ids[at] ?? "",
      partition,
      sequence: sequences?.[at] ?? first + at,
      timestampMs: times[at] ?? 0,
      type: types[at] ?? null,
      key: keys[at] ?? null,
      metadata: sharing(metadata[at]),
      payload: payloads[at] ?? "null",
    };
  }
  return records;
};

/** Shared by all that have none, so that what the driver made for each does not outlive its row. */
const NO_METADATA = "{}";

const sharing = (metadata: string | null | undefined): string =>
  metadata === NO_METADATA ? NO_METADATA : (metadata ?? NO_METADATA);

/** A row of the type event_row. */
export const toRecord = (row: Row, partition: number): EventRecord => ({
  id: row[1] ?? "",
  partition,
  sequence: Number(row[0]),
  timestampMs: Number(row[2]),
  type: row[3] ?? null,
  key: row[4] ?? null,
  metadata: sharing(row[5]),
  payload: row[6] ?? "null",
});
