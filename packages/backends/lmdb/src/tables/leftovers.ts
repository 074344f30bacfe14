/** Streams that were deleted, and whose events are removed bit by bit: their numbers are never given again, so nobody finds them. */
import { endOf, ID_SIZE, Key, newValue, TABLE } from "../bytes.ts";
import type { Environment } from "../environment.ts";

const NOTHING = newValue(0);

const keyOf = (streamId: number): Buffer => new Key(TABLE.leftovers, ID_SIZE).id(streamId).bytes;

export const addLeftover = (environment: Environment, streamId: number): void => environment.put(keyOf(streamId), NOTHING);

export const removeLeftover = (environment: Environment, streamId: number): void => environment.remove(keyOf(streamId));

/** One of them; null when there is none. */
export const anyLeftover = (environment: Environment): number | null => {
  const start = new Key(TABLE.leftovers, 0).bytes;
  for (const key of environment.keys({ start, end: endOf(start), limit: 1 })) return key.readUInt32BE(start.length);
  return null;
};
