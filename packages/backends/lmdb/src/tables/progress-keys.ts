/** Keys of what a group keeps for a partition: group, partition, kind, and what tells records of a kind apart. */
import { ID_SIZE, Key, NUMBER_SIZE, TABLE } from "../bytes.ts";

/** Never renumber. */
export const KIND = { head: 1, lease: 2, exception: 3, due: 4, leased: 5, deadLetter: 6, revocation: 7 } as const;

export type Kind = (typeof KIND)[keyof typeof KIND];

/** Where the part after the kind begins. */
export const REST_AT: number = 1 + 2 * ID_SIZE + 1;

/** A partition of a group. */
export interface Part {
  readonly groupId: number;
  readonly partition: number;
}

const start = ({ groupId, partition }: Part, kind: Kind, more: number): Key =>
  new Key(TABLE.progress, 2 * ID_SIZE + 1 + more).id(groupId).id(partition).byte(kind);

/** What all records of a kind begin with. */
export const kindKey = (part: Part, kind: Kind): Buffer => start(part, kind, 0).bytes;

/** A record told apart by a sequence. */
export const sequenceKey = (part: Part, kind: Kind, sequence: number): Buffer =>
  start(part, kind, NUMBER_SIZE).number(sequence).bytes;

/** A record told apart by a token and its first sequence. */
export const tokenKey = (part: Part, kind: Kind, token: number, first: number): Buffer =>
  start(part, kind, 2 * NUMBER_SIZE)
    .number(token)
    .number(first).bytes;

/** An entry of the order in which exceptions fall due. */
export const dueKey = (part: Part, dueAtMs: number, sequence: number): Buffer =>
  start(part, KIND.due, 2 * NUMBER_SIZE)
    .time(dueAtMs)
    .number(sequence).bytes;

/** What everything of a group begins with. */
export const groupKey = (groupId: number): Buffer => new Key(TABLE.progress, ID_SIZE).id(groupId).bytes;
