/** Dead letters by sequence, and by the id of their event: a page may go on after one whose event was trimmed. */
import type { DeadLetter } from "@rheo/core/internal";
import { endOf, ID_SIZE, Key, NUMBER_SIZE, newValue, numberAt, TABLE } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";
import { KIND, kindKey, type Part, sequenceKey } from "./progress-keys.ts";

const NOTHING = newValue(0);

export const readDeadLetter = (environment: Environment, part: Part, sequence: number): DeadLetter | null => {
  const text = environment.text(sequenceKey(part, KIND.deadLetter, sequence));
  return text === null ? null : toLetter(text);
};

const toLetter = (text: string): DeadLetter => JSON.parse(text) as DeadLetter; // written by putDeadLetter only

/** By sequence, above `after`. */
export const deadLettersAfter = (environment: Environment, part: Part, after: number, limit: number): DeadLetter[] => {
  const start = sequenceKey(part, KIND.deadLetter, after + 1);
  const found: DeadLetter[] = [];
  for (const { value } of environment.entries({ start, end: endOf(kindKey(part, KIND.deadLetter)), limit }))
    found.push(toLetter(textOf(value)));
  return found;
};

export const putDeadLetter = (environment: Environment, part: Part, letter: DeadLetter): void => {
  environment.putText(sequenceKey(part, KIND.deadLetter, letter.sequence), JSON.stringify(letter));
  environment.put(idKey(part, letter), NOTHING);
};

export const deleteDeadLetter = (environment: Environment, part: Part, letter: DeadLetter): void => {
  environment.remove(sequenceKey(part, KIND.deadLetter, letter.sequence));
  environment.remove(idKey(part, letter));
};

/** The id goes last but for where it stands, and no id holds the byte between them. */
const idKey = ({ groupId, partition }: Part, { eventId, sequence }: DeadLetter): Buffer =>
  new Key(TABLE.deadLetterIds, ID_SIZE + Buffer.byteLength(eventId) + 1 + ID_SIZE + NUMBER_SIZE)
    .id(groupId)
    .text(eventId)
    .byte(0)
    .id(partition)
    .number(sequence).bytes;

/** Where the dead letter of an event stands; null when there is none. */
export const placeOfLetter = (
  environment: Environment,
  groupId: number,
  eventId: string,
): { partition: number; sequence: number } | null => {
  const start = new Key(TABLE.deadLetterIds, ID_SIZE + Buffer.byteLength(eventId) + 1).id(groupId).text(eventId).byte(0).bytes;
  const [key] = environment.keys({ start, end: endOf(start), limit: 1 });
  return key === undefined
    ? null
    : { partition: key.readUInt32BE(start.length), sequence: numberAt(key, start.length + ID_SIZE) };
};

/** Entries by id of a group that goes. */
export const removeLetterIds = (environment: Environment, groupId: number): void =>
  environment.removeAll(new Key(TABLE.deadLetterIds, ID_SIZE).id(groupId).bytes);
