/**
 * The `_id` of each document, as text. Text of digits and slashes sorts as its numbers do, because numbers are padded, so one range of the
 * `_id` index holds all records of a kind, of a group or of a partition.
 */

/** Digits of the largest sequence or token, which is a safe integer. */
const NUMBER_DIGITS = 16;
/** Digits of the highest partition. */
const PARTITION_DIGITS = 4;
/** Sorts after everything that follows a slash in an `_id`. */
const END = "~";

const number = (value: number): string => String(value).padStart(NUMBER_DIGITS, "0");
const part = (partition: number): string => String(partition).padStart(PARTITION_DIGITS, "0");

export const partitionId = (stream: number, partition: number): string => `${stream}/${part(partition)}`;

/** Unique in its stream, which is how an id that is there already is refused (L4). */
export const eventId = (stream: number, id: string): string => `${stream}/${id}`;

export const groupId = (stream: number, name: string): string => `${stream}/${name}`;

/** The kinds of records of a group. Heads and leases are neighbours, so that one range holds both. */
export const KINDS = {
  deadLetter: "d",
  exception: "x",
  head: "h",
  lease: "l",
  member: "m",
  revocation: "r",
  bound: "b",
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];

export const headId = (group: number, partition: number): string => `${group}/${KINDS.head}/${part(partition)}`;
export const leaseId = (group: number, partition: number, token: number, first: number): string =>
  `${group}/${KINDS.lease}/${part(partition)}/${number(token)}/${number(first)}`;
export const exceptionId = (group: number, partition: number, sequence: number): string =>
  `${group}/${KINDS.exception}/${part(partition)}/${number(sequence)}`;
export const deadLetterId = (group: number, partition: number, sequence: number): string =>
  `${group}/${KINDS.deadLetter}/${part(partition)}/${number(sequence)}`;
export const revocationId = (group: number, partition: number, token: number, first: number): string =>
  `${group}/${KINDS.revocation}/${part(partition)}/${number(token)}/${number(first)}`;
export const memberId = (group: number, consumerId: string): string => `${group}/${KINDS.member}/${consumerId}`;

/** Of what whoever counts all that is in flight in a group changes. */
export const boundId = (group: number): string => `${group}/${KINDS.bound}`;

/** A range of `_id`s. */
export interface IdRange {
  readonly $gte: string;
  readonly $lt: string;
}

const startingWith = (prefix: string): IdRange => ({ $gte: prefix, $lt: `${prefix}${END}` });

export const partitionsRange = (stream: number): IdRange => startingWith(`${stream}/`);
export const groupsRange = (stream: number): IdRange => startingWith(`${stream}/`);
/** All records of a group. */
export const recordsRange = (group: number): IdRange => startingWith(`${group}/`);
/** All heads, then all leases. */
export const headsAndLeasesRange = (group: number): IdRange => ({
  $gte: `${group}/${KINDS.head}/`,
  $lt: `${group}/${KINDS.lease}/${END}`,
});
export const kindRange = (group: number, kind: Kind): IdRange => startingWith(`${group}/${kind}/`);
export const kindOfPartitionRange = (group: number, kind: Kind, partition: number): IdRange =>
  startingWith(`${group}/${kind}/${part(partition)}/`);
/** Of the kinds that go by sequence: those above `after`. */
export const aboveRange = (group: number, kind: Kind, partition: number, after: number): { $gt: string; $lt: string } => {
  const prefix = `${group}/${kind}/${part(partition)}/`;
  return { $gt: `${prefix}${number(after)}`, $lt: `${prefix}${END}` };
};
