/** Looking at progress: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
import type {
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  GroupStats,
  Holder,
  LeaseRecord,
  PartitionProgress,
} from "@rheo/core";
import { RheoError } from "@rheo/core";
import { programText } from "@rheo/core/internal";
import type { Script } from "./connection.ts";
import type { Place } from "./ids.ts";
import { optional, toRecord } from "./lines.ts";
import { LOOKS } from "./program.ts";
import { placesOfIds } from "./read.ts";
import { checkGroup, type Part, type Shards } from "./shards.ts";

const look = async (
  shards: Shards,
  script: Script,
  stream: string,
  group: string,
  args: readonly (string | number)[] = [],
): Promise<readonly Part[]> => {
  const parts = await shards.all(script, stream, group, () => args);
  checkGroup(parts, stream, group);
  return parts;
};

const lookAt = async (
  shards: Shards,
  script: Script,
  stream: string,
  group: string,
  partition: number,
  args: readonly (string | number)[],
): Promise<readonly unknown[]> => {
  const part = await shards.one(script, stream, partition, group, args);
  checkGroup([part], stream, group);
  return part.answer;
};

/** Groups of so many items, after the first. */
const rowsOf = (answer: readonly unknown[], size: number, from = 1): (readonly unknown[])[] => {
  const rows: (readonly unknown[])[] = [];
  for (let at = from; at < answer.length; at += size) rows.push(answer.slice(at, at + size));
  return rows;
};

/** @throws unavailable - leases or dead letters are not there */
export const progress = async (shards: Shards, stream: string, group: string): Promise<PartitionProgress[]> =>
  (await look(shards, LOOKS.progress, stream, group)).flatMap(({ partitions, answer }) =>
    rowsOf(answer, 6).map(([firstSequence, highWatermark, frontier, skipped, lost, lostLetters], at) => {
      const partition = partitions[at] ?? 0;
      if (Number(lost) !== 0) throw leasesMissing(stream, group, partition, Number(lost));
      checkLetters(stream, group, partition, Number(lostLetters));
      return {
        partition,
        firstSequence: Number(firstSequence),
        highWatermark: Number(highWatermark),
        frontier: Number(frontier),
        skipped: Number(skipped),
      };
    }),
  );

/** Where a frontier would pass over them. */
const leasesMissing = (stream: string, group: string, partition: number, lost: number): RheoError =>
  new RheoError(
    "unavailable",
    `Group "${group}" counts deliveries as leased in ${stream}/${partition} that no record of leases tells of, ${lost} by the count: the store was written to by something else, or is damaged. ` +
      "Replay the group from the last sequence that is known to be handled, or reset it.",
    { stream, group, partition },
  );

/** What they tell of would pass for acked. */
const checkLetters = (stream: string, group: string, partition: number, lost: number): void => {
  if (lost === 0) return;
  throw new RheoError(
    "unavailable",
    `Group "${group}" counts dead letters in ${stream}/${partition} that are not there, ${lost} by the count: the store was written to by something else, or is damaged. ` +
      "Replay the group from the last sequence that is known to be handled, or reset it.",
    { stream, group, partition },
  );
};

/** A member that holds nothing is listed for this many lease lengths after it was last seen. */
const MEMBER_LEASES = 2;

export const groupStats = async (shards: Shards, stream: string, group: string): Promise<GroupStats> => {
  const parts = await look(shards, LOOKS.stats, stream, group);
  const held = new Map<string, number>();
  const seen = new Map<string, number>();
  let retrying = 0;
  let deadLetters = 0;
  let oldestUnsettledAtMs: number | null = null;
  let sinceMs = Number.POSITIVE_INFINITY;
  for (const { answer } of parts) {
    const [, now, leaseMs, retryingHere, deadHere, oldest, holding, members] = answer;
    retrying += Number(retryingHere);
    deadLetters += Number(deadHere);
    sinceMs = Math.min(sinceMs, Number(now) - MEMBER_LEASES * Number(leaseMs));
    if (oldest !== "") oldestUnsettledAtMs = Math.min(oldestUnsettledAtMs ?? Number.POSITIVE_INFINITY, Number(oldest));
    for (const [consumerId, leases] of rowsOf(holding as unknown[], 2, 0)) add(held, String(consumerId), Number(leases));
    for (const [consumerId, lastSeen] of rowsOf(members as unknown[], 2, 0))
      seen.set(String(consumerId), Math.max(seen.get(String(consumerId)) ?? 0, Number(lastSeen)));
  }
  const members = [...seen]
    .filter(([consumerId, lastSeenAtMs]) => held.has(consumerId) || lastSeenAtMs > sinceMs)
    .map(([consumerId, lastSeenAtMs]) => ({ consumerId, lastSeenAtMs, leases: held.get(consumerId) ?? 0 }));
  const inflight = [...held.values()].reduce((sum, leases) => sum + leases, 0);
  return { inflight, retrying, deadLetters, oldestUnsettledAtMs, members };
};

const add = (counts: Map<string, number>, name: string, count: number): void =>
  void counts.set(name, (counts.get(name) ?? 0) + count);

export const holders = async (shards: Shards, stream: string, group: string): Promise<Holder[]> =>
  (await look(shards, LOOKS.holders, stream, group)).flatMap(({ partitions, answer }) =>
    rowsOf(answer, 4).map(([place, sequence, highWatermark, state]) => ({
      partition: partitions[Number(place)] ?? 0,
      sequence: Number(sequence),
      highWatermark: Number(highWatermark),
      delivery: toState(state as unknown[]), // our own script wrote it
    })),
  );

/** See `inspect.lua.ts`. */
const toState = ([state, ...rest]: readonly unknown[]): DeliveryState => {
  const number = (at: number): number => Number(rest[at]);
  const error = (at: number): string | null => optional(String(rest[at]));
  switch (state) {
    case "leased":
    case "expired":
      return {
        state,
        attempt: number(0),
        token: number(1),
        consumerId: String(rest[2]),
        leasedAtMs: number(3),
        expiresAtMs: number(4),
        lastError: error(5),
      };
    case "retrying":
      return { state, attempt: number(0), dueAtMs: number(1), failedAtMs: number(2), lastError: error(3) };
    case "pending":
      return { state, attempt: number(0), lastError: error(1) };
    case "dead":
      return { state, attempt: number(0), deadAtMs: number(1), lastError: String(rest[2]) };
    case "parked":
    case "undelivered":
      return { state };
    default:
      return { state: "settled" };
  }
};

export const leases = async (shards: Shards, stream: string, group: string, limit: number): Promise<LeaseRecord[]> => {
  const parts = await look(shards, LOOKS.leases, stream, group, [limit]);
  const records = parts.flatMap(({ partitions, answer }) =>
    rowsOf(answer, 7).map(([place, sequence, token, attempt, consumerId, leasedAtMs, expiresAtMs]) => ({
      partition: partitions[Number(place)] ?? 0,
      sequence: Number(sequence),
      token: Number(token),
      attempt: Number(attempt),
      consumerId: String(consumerId),
      leasedAtMs: Number(leasedAtMs),
      expiresAtMs: Number(expiresAtMs),
    })),
  );
  return records.slice(0, limit);
};

export const delivery = async (
  shards: Shards,
  stream: string,
  group: string,
  partition: number,
  sequence: number,
): Promise<DeliveryState> => {
  const answer = await lookAt(shards, LOOKS.delivery, stream, group, partition, [sequence]);
  return toState(answer[1] as unknown[]); // our own script wrote it
};

/** @throws cursor_not_found, unavailable - some are not there */
export const deadLetters = async (shards: Shards, prefix: string, request: DeadLetterRequest): Promise<DeadLetterRecord[]> => {
  const { stream, group, limit, after, where } = request;
  const counts = await look(shards, LOOKS.countLetters, stream, group);
  const withLetters = counts.flatMap(({ partitions, answer }) =>
    rowsOf(answer, 2).flatMap(([count, lost], at) => {
      const partition = partitions[at] ?? 0;
      checkLetters(stream, group, partition, Number(lost));
      return Number(count) > 0 ? [partition] : [];
    }),
  );
  const from = after === null ? { partition: 0, sequence: 0 } : await cursorOf(shards, prefix, stream, group, after, withLetters);
  const program = programText(where) ?? "";
  const found: DeadLetterRecord[] = [];
  for (const partition of withLetters.filter((one) => one >= from.partition)) {
    for (let last = partition === from.partition ? from.sequence : 0; ; ) {
      const answer = await lookAt(shards, LOOKS.letters, stream, group, partition, [last, limit - found.length, program]);
      found.push(...rowsOf(answer, 9, 3).map((row) => toLetter(row, partition)));
      if (found.length >= limit) return found;
      if (answer[2] !== 1) break;
      last = Number(answer[1]);
    }
  }
  return found;
};

const toLetter = (row: readonly unknown[], partition: number): DeadLetterRecord => {
  const line = String(row[8]);
  return {
    partition,
    sequence: Number(row[0]),
    eventId: String(row[1]),
    attempts: Number(row[2]),
    reason: String(row[3]),
    stack: optional(String(row[4])),
    consumerId: String(row[5]),
    firstFailedAtMs: Number(row[6]),
    deadAtMs: Number(row[7]),
    event: line === "" ? null : toRecord(line, partition),
  };
};

/** Where an event is, or the dead letter of one that was trimmed. */
const cursorOf = async (
  shards: Shards,
  prefix: string,
  stream: string,
  group: string,
  id: string,
  partitions: readonly number[],
): Promise<Place> => {
  const place = (await placesOfIds(shards, prefix, stream, [id])).get(id);
  if (place !== undefined) return place;
  for (const partition of partitions) {
    for (let last = 0; ; ) {
      const [, sequence, looked] = await lookAt(shards, LOOKS.findLetter, stream, group, partition, [last, id]);
      if (Number(sequence) > 0) return { partition, sequence: Number(sequence) };
      if (Number(looked) === 0) break;
      last = Number(looked);
    }
  }
  throw new RheoError(
    "cursor_not_found",
    `There is no event "${id}" in stream "${stream}" to go on after. Start again without "after".`,
    { stream, id },
  );
};
