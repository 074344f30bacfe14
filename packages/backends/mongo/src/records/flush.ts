/** Writing what an operation has changed, in one transaction. */
import type { AnyBulkWriteOperation } from "mongodb";
import type { ProgressDocument } from "../documents.ts";
import { Conflict } from "../errors.ts";
import {
  aboveRange,
  boundId,
  deadLetterId,
  exceptionId,
  headId,
  KINDS,
  kindOfPartitionRange,
  leaseId,
  memberId,
  revocationId,
} from "../ids.ts";
import type { Unit } from "../store.ts";
import { deadLetterDocument, exceptionDocument, leaseDocument, revocationDocument } from "./encode.ts";
import type { GroupRecords } from "./group-records.ts";
import type { PartitionRecords } from "./partition-records.ts";

type Write = AnyBulkWriteOperation<ProgressDocument>;

/**
 * Each head is changed only if its version is still the one that was read: else another operation came first.
 * Cost: one command for what is written, one for what is deleted.
 */
export const flush = async ({ collections, within }: Unit, records: GroupRecords): Promise<void> => {
  const changed = records.partitions.filter((part) => part.isChanged);
  const ranges = changed.flatMap((part) => rangesToDelete(records, part));
  const heads = changed.map((part) => updateHead(records, part));
  const others = [
    ...changed.flatMap((part) => documentsOf(records, part)).map(replace),
    ...memberWrites(records),
    ...boundWrites(records),
  ];
  const deletes = changed.flatMap((part) => idsToDelete(records, part)).map((_id) => ({ deleteOne: { filter: { _id } } }));
  const updates = [...heads, ...others];
  if (updates.length === 0) return;
  const result = await collections.progress.bulkWrite([...ranges, ...updates, ...deletes], { ...within, ordered: true });
  if (result.matchedCount + result.upsertedCount !== updates.length) throw new Conflict();
};

const updateHead = ({ group: { group } }: GroupRecords, part: PartitionRecords): Write => ({
  updateOne: {
    filter: { _id: headId(group, part.state.partition), version: part.stored.version },
    update: { $set: { ...part.head, ...part.counts, dueAtMs: dueBound(part) }, $inc: { version: 1 } },
  },
});

/** Not later than the earliest due exception; null when there is none that time allows. */
const dueBound = ({ stored, counts, exceptions, due, isCleared }: PartitionRecords): number | null => {
  if (counts.exceptions === 0) return null;
  const changed = [...exceptions.changes.values()].flatMap((exception) => exception?.dueAtMs ?? []);
  if (isCleared) return least(changed);
  if (exceptions.isWhole) return least([...exceptions.current()].flatMap((exception) => exception.dueAtMs ?? []));
  if (due === null) return least([...changed, ...(stored.dueAtMs === null ? [] : [stored.dueAtMs])]);
  const listed = due.sequences.filter((sequence) => !exceptions.changes.has(sequence));
  const kept = listed.flatMap((sequence) => exceptions.get(sequence)?.dueAtMs ?? []);
  return least([...changed, ...kept, ...(due.nextMs === null ? [] : [due.nextMs])]);
};

const least = (times: readonly number[]): number | null => (times.length === 0 ? null : times.reduce((a, b) => Math.min(a, b)));

const documentsOf = ({ group: { group } }: GroupRecords, part: PartitionRecords): ProgressDocument[] => {
  const { partition } = part.state;
  return [
    ...part.changedLeases.map((lease) => leaseDocument(group, partition, lease)),
    ...putIn(part.exceptions.changes).map((exception) => exceptionDocument(group, partition, exception)),
    ...putIn(part.deadLetters.changes).map((letter) => deadLetterDocument(group, partition, letter)),
    ...part.addedRevocations.map((revocation) => revocationDocument(group, partition, revocation)),
  ];
};

const putIn = <Item>(changes: ReadonlyMap<number, Item | null>): Item[] => [...changes.values()].flatMap((item) => item ?? []);
const deletedIn = (changes: ReadonlyMap<number, unknown>): number[] =>
  [...changes].flatMap(([sequence, item]) => (item === null ? sequence : []));

const replace = (document: ProgressDocument): Write => {
  const { _id, ...replacement } = document;
  return { replaceOne: { filter: { _id }, replacement, upsert: true } };
};

const idsToDelete = ({ group: { group } }: GroupRecords, part: PartitionRecords): string[] => {
  const { partition } = part.state;
  return [
    ...part.deletedLeases.map(({ token, first }) => leaseId(group, partition, token, first)),
    ...deletedIn(part.exceptions.changes).map((sequence) => exceptionId(group, partition, sequence)),
    ...deletedIn(part.deadLetters.changes).map((sequence) => deadLetterId(group, partition, sequence)),
    ...part.droppedRevocations.map(({ token, first }) => revocationId(group, partition, token, first)),
  ];
};

/** Before anything is put. */
const rangesToDelete = ({ group: { group } }: GroupRecords, part: PartitionRecords): Write[] => {
  const { partition } = part.state;
  const deleteMany = (_id: object): Write => ({ deleteMany: { filter: { _id } } }) as Write; // a range of ids
  if (part.isCleared)
    return [KINDS.lease, KINDS.exception, KINDS.deadLetter, KINDS.revocation].map((kind) =>
      deleteMany(kindOfPartitionRange(group, kind, partition)),
    );
  const { clearedAbove: exceptionsAbove } = part.exceptions;
  const { clearedAbove: lettersAbove } = part.deadLetters;
  return [
    ...(exceptionsAbove === null ? [] : [deleteMany(aboveRange(group, KINDS.exception, partition, exceptionsAbove))]),
    ...(lettersAbove === null ? [] : [deleteMany(aboveRange(group, KINDS.deadLetter, partition, lettersAbove))]),
  ];
};

/** Who was seen, and whose leases were counted: two operations that count those of one member cannot both end. */
const memberWrites = ({ group: { group }, touched, counted, nowMs }: GroupRecords): Write[] => {
  const names = new Set([...counted, ...(touched === null ? [] : [touched])]);
  return [...names].map((consumerId) => ({
    updateOne: {
      filter: { _id: memberId(group, consumerId) },
      update: {
        $set: { group, consumerId, ...(consumerId === touched ? { lastSeenAtMs: nowMs } : {}) },
        $inc: { version: 1 },
      },
      upsert: true,
    },
  }));
};

/** Two fetches that count what is in flight cannot both end. */
const boundWrites = ({ group: { group }, isBounded }: GroupRecords): Write[] =>
  isBounded ? [{ updateOne: { filter: { _id: boundId(group) }, update: { $inc: { version: 1 } }, upsert: true } }] : [];
