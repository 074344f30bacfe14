import { randomFillSync } from "node:crypto";

/** Gives ids for events. */
export type IdSource = (nowMs: number) => string;

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const POOL_BYTES = 4_096;

/**
 * UUIDv7 (RFC 9562, method 1): 48 bits of milliseconds, a 12-bit counter that keeps ids of one millisecond in order,
 * 62 random bits. Ids of one source always rise, also when the clock goes back.
 */
export const uuidv7Source = (): IdSource => {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  let lastMs = -1;
  let counter = 0;
  const hex = (index: number): string => HEX[pool[index] ?? 0] ?? "00";
  return (nowMs) => {
    if (used + 10 > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const at = used;
    used += 10;
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = pool.readUInt16BE(at + 8) & 0x7ff;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = pool.readUInt16BE(at + 8) & 0x7ff;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    const variant = HEX[((pool[at] ?? 0) & 0x3f) | 0x80] ?? "80";
    return (
      `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${variant}${hex(at + 1)}-` +
      hex(at + 2) +
      hex(at + 3) +
      hex(at + 4) +
      hex(at + 5) +
      hex(at + 6) +
      hex(at + 7)
    );
  };
};
