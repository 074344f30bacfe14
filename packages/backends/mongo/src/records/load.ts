/** Loading what an operation starts from, and then what else it asks for. */
import type { EventRecord } from "@rheo/core";
import type { StoredGroup } from "../catalog.ts";
import { idsOfPartitions, toGroup, toPartition } from "../catalog.ts";
import type {
  DeadLetterDocument,
  ExceptionDocument,
  HeadDocument,
  LeaseDocument,
  MemberDocument,
  RevocationDocument,
} from "../documents.ts";
import { Conflict } from "../errors.ts";
import * as events from "../events.ts";
import {
  aboveRange,
  eventId,
  exceptionId,
  groupId,
  headsAndLeasesRange,
  KINDS,
  kindOfPartitionRange,
  kindRange,
} from "../ids.ts";
import type { Unit } from "../store.ts";
import { toDeadLetter, toException, toLease, toRevocation } from "./encode.ts";
import { GroupRecords } from "./group-records.ts";
import type { Need } from "./missing.ts";
import { PartitionRecords } from "./partition-records.ts";

const ALL = Number.POSITIVE_INFINITY;

/**
 * The group as it is now, with its heads, its leases and the ends of its partitions. Heads are read before leases, so that whoever
 * changes a lease in between has moved the head's version past what was read.
 * Cost: two ranges and the group itself. Null: it is gone.
 */
export const loadGroup = async (unit: Unit, known: StoredGroup): Promise<GroupRecords | null> => {
  const { collections, within, store } = unit;
  const stream = { streamId: known.stream, record: { name: known.record.stream, partitions: known.partitions, createdAtMs: 0 } };
  const readGroup = () => store.readWithTime(collections.groups, within, { _id: groupId(known.stream, known.record.name) });
  const readRecords = () =>
    collections.progress
      .find<HeadDocument | LeaseDocument>({ _id: headsAndLeasesRange(known.group) }, { ...within, sort: { _id: 1 } })
      .toArray();
  const readEnds = () => collections.partitions.find({ _id: { $in: idsOfPartitions(stream) } }, within).toArray();
  // in a transaction there is one command at a time
  const [{ documents, nowMs }, records, ends] =
    within.session === undefined
      ? await Promise.all([readGroup(), readRecords(), readEnds()])
      : [await readGroup(), await readRecords(), await readEnds()];
  const [document] = documents;
  if (document === undefined || nowMs === null || document.group !== known.group) return null;
  const states = ends.map(toPartition).sort((a, b) => a.partition - b.partition);
  const heads = records.filter((record) => "cursor" in record);
  if (heads.length !== known.partitions || states.length !== known.partitions) return null;
  const leases = records.filter((record) => "closed" in record).map(toLease);
  const partitions = states.map((state, partition) => {
    const head = heads[partition];
    if (head === undefined) throw new Conflict();
    const own = leases.filter((lease) => lease.partition === partition).map(({ partition: _partition, ...lease }) => lease);
    return new PartitionRecords(head, state, own);
  });
  return new GroupRecords(toGroup(stream, document), nowMs, partitions);
};

/** Adds what is missing. */
export const load = async (unit: Unit, records: GroupRecords, need: Need): Promise<void> => {
  const { group, stream } = records.group;
  const { progress } = unit.collections;
  const { within } = unit;
  switch (need.kind) {
    case "exceptions":
    case "deadLetters":
      return loadAfter(unit, records, need);
    case "exceptionsAt": {
      const ids = need.sequences.map((sequence) => exceptionId(group, need.partition, sequence));
      const found = await progress.find<ExceptionDocument>({ _id: { $in: ids } }, within).toArray();
      return records.at(need.partition).exceptions.loadAt(found.map(toException), need.sequences);
    }
    case "leasedExceptions":
      return loadLeased(unit, records);
    case "due": {
      if (within.session === undefined)
        await Promise.all(need.partitions.map((partition) => loadDue(unit, records, partition, need.limit)));
      else for (const partition of need.partitions) await loadDue(unit, records, partition, need.limit);
      return;
    }
    case "retrying": {
      const wanted = { group, partition: need.partition, kind: "exception", state: "retrying" };
      records.at(need.partition).retrying = await progress.countDocuments(wanted, within);
      return;
    }
    case "deadLettersAbove": {
      const wanted = { _id: aboveRange(group, KINDS.deadLetter, need.partition, need.after) };
      records.at(need.partition).deadLettersAbove.set(need.after, await progress.countDocuments(wanted, within));
      return;
    }
    case "deadLetterOf": {
      const sort = { partition: 1, sequence: 1 } as const;
      const found = await progress.findOne<DeadLetterDocument>(
        { group, kind: "deadLetter", eventId: need.eventId },
        { ...within, sort },
      );
      records.deadLetterOf.set(need.eventId, found === null ? null : toDeadLetter(found));
      return;
    }
    case "revocations": {
      const wanted = { _id: kindOfPartitionRange(group, KINDS.revocation, need.partition) };
      const found = await progress.find<RevocationDocument>(wanted, within).toArray();
      records.at(need.partition).revocations = found.map(toRevocation);
      return;
    }
    case "members": {
      const wanted = { _id: kindRange(group, KINDS.member) };
      const found = await progress.find<MemberDocument>(wanted, { ...within, sort: { _id: 1 } }).toArray();
      // one whose leases were only counted was not seen yet
      records.members = found.flatMap(({ consumerId, lastSeenAtMs }) =>
        lastSeenAtMs === undefined ? [] : [{ consumerId, lastSeenAtMs }],
      );
      return;
    }
    case "events":
    case "eventsAt":
    case "headersAt":
      return loadEvents(unit, records, need);
    case "sequenceAtTime": {
      const part = records.at(need.partition);
      part.atTime.set(need.timeMs, await events.sequenceAtTime(unit, stream, part.state, need.timeMs));
      return;
    }
    case "placeOfEvent": {
      const found = await unit.collections.events.findOne(
        { _id: eventId(stream, need.eventId) },
        { ...within, projection: { partition: 1, sequence: 1 } },
      );
      records.placeOfEvent.set(need.eventId, found === null ? null : { partition: found.partition, sequence: found.sequence });
      return;
    }
    default:
      return need satisfies never;
  }
};

const loadAfter = async (
  { collections: { progress }, within }: Unit,
  records: GroupRecords,
  { kind, partition, after, limit }: Extract<Need, { kind: "exceptions" | "deadLetters" }>,
): Promise<void> => {
  const { group } = records.group;
  const part = records.at(partition);
  const options = { ...within, sort: { _id: 1 }, ...(limit === ALL ? {} : { limit }) } as const;
  const reach = (found: readonly { sequence: number }[]): number =>
    found.length < limit ? ALL : (found.at(-1)?.sequence ?? ALL);
  if (kind === "exceptions") {
    const wanted = { _id: aboveRange(group, KINDS.exception, partition, after) };
    const found = await progress.find<ExceptionDocument>(wanted, options).toArray();
    return part.exceptions.load(found.map(toException), after, reach(found));
  }
  const wanted = { _id: aboveRange(group, KINDS.deadLetter, partition, after) };
  const found = await progress.find<DeadLetterDocument>(wanted, options).toArray();
  part.deadLetters.load(found.map(toDeadLetter), after, reach(found));
};

/** Cost: as many as are leased by themselves, found by the index `leased`. */
const loadLeased = async ({ collections, within }: Unit, records: GroupRecords): Promise<void> => {
  const wanted = { group: records.group.group, state: "leased" };
  const found = await collections.progress.find<ExceptionDocument>(wanted, within).toArray();
  for (const exception of found.map(toException))
    records.partitions[exception.partition]?.exceptions.loadAt([exception], [exception.sequence]);
  records.hasLeasedExceptions = true;
};

/** One more than is wanted is read, and those of the future too: so it is known when the next is due. Parked ones have no time. */
const loadDue = async ({ collections, within }: Unit, records: GroupRecords, partition: number, limit: number): Promise<void> => {
  const wanted = { group: records.group.group, partition, kind: "exception", dueAtMs: { $gte: 0 } };
  const sort = { dueAtMs: 1, sequence: 1 } as const;
  const cursor = collections.progress.find<ExceptionDocument>(wanted, { ...within, sort, limit: limit + 1 });
  const found = (await cursor.toArray()).map(toException);
  const part = records.at(partition);
  const sequences = found.map(({ sequence }) => sequence);
  part.exceptions.loadAt(found, sequences);
  part.due = { limit, sequences, nextMs: found.length > limit ? (found[limit]?.dueAtMs ?? null) : null };
};

const loadEvents = async (
  unit: Unit,
  records: GroupRecords,
  need: Extract<Need, { kind: "events" | "eventsAt" | "headersAt" }>,
): Promise<void> => {
  const { stream } = records.group;
  const part = records.at(need.partition);
  const { partition } = need;
  if (need.kind === "headersAt") {
    const found = await events.readHeaders(unit, stream, partition, need.sequences);
    for (const sequence of need.sequences) part.headers.set(sequence, null);
    for (const header of found) part.headers.set(header.sequence, header);
    return;
  }
  if (need.kind === "eventsAt") {
    const found = await events.readSequences(unit, stream, partition, need.sequences, need.maxBytes);
    return note(part, need.sequences, found, need.maxBytes);
  }
  const until = Math.min(part.state.highWatermark, need.after + need.limit);
  const wanted = Array.from({ length: Math.max(0, until - need.after) }, (_, index) => need.after + 1 + index);
  const slice = {
    stream,
    partition,
    after: need.after,
    until,
    order: "asc",
    limit: need.limit,
    maxBytes: need.maxBytes,
  } as const;
  note(part, wanted, await events.readSlice(unit, slice), need.maxBytes);
};

/** What was not found is not there, as far as was looked. */
const note = (part: PartitionRecords, wanted: readonly number[], found: readonly EventRecord[], maxBytes: number): void => {
  const bytes = found.reduce((sum, event) => sum + (event.bytes ?? 0), 0);
  const looked = bytes > maxBytes ? (found[found.length - 1]?.sequence ?? 0) : ALL;
  for (const sequence of wanted) if (sequence <= looked && !part.events.get(sequence)) part.events.set(sequence, null);
  for (const event of found) part.events.set(event.sequence, event);
};
