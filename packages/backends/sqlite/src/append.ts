import type { AppendAnswer, AppendRequest, EventRecord } from "@rheo/core";
import {
  type AppendPlan,
  type AppendView,
  type PartitionState,
  type PlannedEvent,
  planAppend,
  type StoredStream,
} from "@rheo/core/internal";
import type { Value } from "./driver/driver.ts";
import { isConstraint } from "./errors.ts";
import type { Sql } from "./sql.ts";
import { readIds } from "./tables/events.ts";
import { findStream, partitionAt } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

/** Rows of one statement, as many as fit first: each call of a driver costs as much as several rows. */
const CHUNKS = [64, 8, 1] as const;

const COLUMNS = "stream_id, partition, sequence, time_ms, latest_ms, bytes, id, type, key, metadata, payload";
const PLACES = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
// cost: for each row the table and its two unique indexes
const INSERTS = CHUNKS.map((rows) => ({
  rows,
  statement: `INSERT INTO rheo_events (${COLUMNS}) VALUES ${new Array<string>(rows).fill(PLACES).join(", ")}`,
}));
const UPDATE_PARTITION =
  "UPDATE rheo_partitions SET high_watermark = ?, latest_ms = ?, largest_bytes = ? WHERE stream_id = ? AND partition = ?";

/**
 * Appends in one transaction. Ids are nearly always new, so they are not looked up first: the unique index refuses one that is
 * not, and then everything is planned again with the stored events at hand. So it is when a request was to be refused, because
 * an event that is there already is answered before anything else is looked at. No other writer can come in between.
 */
export const append = (unit: Unit, requests: readonly AppendRequest[]): readonly AppendAnswer[] => {
  const view = viewOf(unit);
  const hopeful = planAppend(requests, view);
  if (!hopeful.answers.some(isRefusal) && tryWrite(unit.sql, hopeful)) return hopeful.answers;
  const informed = planAppend(requests, { ...view, stored: storedEvents(unit.sql, requests, view) });
  write(unit.sql, informed);
  return informed.answers;
};

/** The streams that these appends have added events to. */
export const streamsWithNew = (requests: readonly AppendRequest[], answers: readonly AppendAnswer[]): Set<string> =>
  new Set(requests.filter((_, index) => addsEvents(answers[index])).map(({ stream }) => stream));

const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);

const isRefusal = ({ kind }: AppendAnswer): boolean => kind === "id_conflict" || kind === "sequence_conflict";

const viewOf = ({ sql, nowMs }: Unit): AppendView => {
  const streams = new Map<string, StoredStream | null>();
  const partitions = new Map<string, PartitionState>();
  return {
    nowMs,
    stored: () => null,
    stream: (name) => {
      const found = streams.get(name) ?? findStream(sql, name);
      streams.set(name, found);
      return found;
    },
    partition: (streamId, partition) => {
      const name = `${streamId}/${partition}`;
      const row = partitions.get(name) ?? partitionAt(sql, streamId, partition);
      partitions.set(name, row);
      return row;
    },
  };
};

const storedEvents = (sql: Sql, requests: readonly AppendRequest[], view: AppendView): AppendView["stored"] => {
  const ids = new Map<number, string[]>();
  for (const request of requests) {
    const stream = view.stream(request.stream);
    if (stream === null) continue;
    const known = ids.get(stream.streamId) ?? [];
    for (const event of request.events) known.push(event.id);
    ids.set(stream.streamId, known);
  }
  const stored = new Map<number, ReadonlyMap<string, EventRecord>>();
  for (const [streamId, wanted] of ids) stored.set(streamId, readIds(sql, streamId, wanted));
  return (streamId, id) => stored.get(streamId)?.get(id) ?? null;
};

/** False when an id was there already: nothing is written then. */
const tryWrite = (sql: Sql, plan: AppendPlan): boolean => {
  sql.exec("SAVEPOINT rheo_append");
  try {
    write(sql, plan);
  } catch (error) {
    if (!isConstraint(error)) throw error;
    sql.exec("ROLLBACK TO rheo_append; RELEASE rheo_append");
    return false;
  }
  sql.exec("RELEASE rheo_append");
  return true;
};

const write = (sql: Sql, { events, partitions }: AppendPlan): void => {
  let next = 0;
  for (const { rows, statement } of INSERTS) {
    for (; next + rows <= events.length; next += rows) sql.runMany(statement, toValues(events, next, next + rows));
  }
  for (const { streamId, state } of partitions) {
    sql.run(UPDATE_PARTITION, state.highWatermark, state.latestMs, state.largestBytes, streamId, state.partition);
  }
};

const toValues = (events: readonly PlannedEvent[], from: number, to: number): Value[] => {
  const values: Value[] = [];
  for (const { streamId, record, bytes, latestMs } of events.slice(from, to)) {
    values.push(streamId, record.partition, record.sequence, record.timestampMs, latestMs, bytes);
    values.push(record.id, record.type, record.key, record.metadata, record.payload);
  }
  return values;
};
