/** Times of commits: seconds and a counter within them, in one number that grows with each. */
import { Timestamp } from "bson";

const PER_SECOND = 2 ** 20;

export const nextTime = (last: number, nowMs: number): number => Math.max(last + 1, Math.floor(nowMs / 1_000) * PER_SECOND + 1);

export const toTimestamp = (at: number): Timestamp => new Timestamp({ t: Math.floor(at / PER_SECOND), i: at % PER_SECOND });

export const fromTimestamp = (timestamp: Timestamp): number =>
  timestamp.getHighBitsUnsigned() * PER_SECOND + timestamp.getLowBitsUnsigned();
