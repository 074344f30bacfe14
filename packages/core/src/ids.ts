import { randomFillSync } from "node:crypto";

/** Gives ids for events. */
export type IdSource = (nowMs: number) => string;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const POOL_BYTES = 4_096;
/** Random bytes that an id takes: two of them begin a counter. */
const ID_BYTES = 10;
const MAX_COUNTER = 0xfff;

/**
 * UUIDv7 (RFC 9562, method 1): 48 bits of milliseconds, a 12-bit counter that keeps ids of one millisecond in order,
 * 62 random bits. Ids of one source always rise, also when the clock goes back.
 */
export const uuidv7Source = (): IdSource => {
  const pool = Buffer.alloc(POOL_BYTES);
  let digits = "";
  let used = POOL_BYTES;
  let lastMs = -1;
  let counter = 0;
  let time = "";
  const moveTo = (ms: number): void => {
    lastMs = ms;
    const hex = ms.toString(16).padStart(12, "0");
    time = `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
  };
  return (nowMs) => {
    if (used + ID_BYTES > POOL_BYTES) {
      digits = randomFillSync(pool).toString("hex");
      used = 0;
    }
    const at = used;
    used += ID_BYTES;
    const isLater = nowMs > lastMs;
    if (isLater) moveTo(nowMs);
    else if (++counter > MAX_COUNTER) moveTo(lastMs + 1);
    if (isLater || counter > MAX_COUNTER) counter = pool.readUInt16BE(at + 8) & (MAX_COUNTER >> 1);
    const variant = HEX[((pool[at] ?? 0) & 0x3f) | 0x80] ?? "80";
    return `${time}${counter.toString(16).padStart(3, "0")}-${variant}${digits.slice(2 * at + 2, 2 * at + 4)}-${digits.slice(2 * at + 4, 2 * at + 16)}`;
  };
};
