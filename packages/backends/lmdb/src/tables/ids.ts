/** Where the event of an id stands: an id is there once in a stream (L4). */
import { CONTENT_AT, ID_SIZE, Key, NUMBER_SIZE, newValue, TABLE } from "../bytes.ts";
import type { Environment } from "../environment.ts";

export interface Place {
  readonly partition: number;
  readonly sequence: number;
}

const keyOf = (streamId: number, id: string): Buffer =>
  new Key(TABLE.ids, ID_SIZE + Buffer.byteLength(id)).id(streamId).text(id).bytes;

const encode = ({ partition, sequence }: Place): Buffer => {
  const value = newValue(ID_SIZE + NUMBER_SIZE);
  value.writeDoubleLE(sequence, value.writeUInt32LE(partition, CONTENT_AT));
  return value;
};

export const placeOfId = (environment: Environment, streamId: number, id: string): Place | null => {
  const value = environment.get(keyOf(streamId, id));
  if (value === null) return null;
  return { partition: value.readUInt32LE(CONTENT_AT), sequence: value.readDoubleLE(CONTENT_AT + ID_SIZE) };
};

/** False when the id is there already: nothing is written then. */
export const addId = (environment: Environment, streamId: number, id: string, place: Place): boolean =>
  environment.putNew(keyOf(streamId, id), encode(place));

export const removeId = (environment: Environment, streamId: number, id: string): void => environment.remove(keyOf(streamId, id));

/** What all ids of a stream begin with. */
export const idsKey = (streamId: number): Buffer => new Key(TABLE.ids, ID_SIZE).id(streamId).bytes;
