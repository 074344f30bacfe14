/**
 * Routing by key (L3), as Kafka's default partitioner does it: murmur2 of the key's UTF-8 bytes, sign bit cleared, modulo the
 * number of partitions. Source: org.apache.kafka.common.utils.Utils.murmur2.
 */
export const partitionOfKey = (key: string, partitions: number): number =>
  partitions === 1 ? 0 : (murmur2(Buffer.from(key, "utf8")) & 0x7fff_ffff) % partitions;

const M = 0x5bd1_e995;
const SEED = 0x9747_b28c;

/** 32-bit murmur2 with Kafka's seed; the result is signed. */
export const murmur2 = (data: Uint8Array): number => {
  const whole = data.length & ~3;
  let hash = SEED ^ data.length;
  for (let i = 0; i < whole; i += 4) {
    let word = Math.imul(
      byteAt(data, i) | (byteAt(data, i + 1) << 8) | (byteAt(data, i + 2) << 16) | (byteAt(data, i + 3) << 24),
      M,
    );
    word = Math.imul(word ^ (word >>> 24), M);
    hash = Math.imul(hash, M) ^ word;
  }
  const rest = data.length - whole;
  if (rest === 3) hash ^= byteAt(data, whole + 2) << 16;
  if (rest >= 2) hash ^= byteAt(data, whole + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ byteAt(data, whole), M);
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
};

const byteAt = (data: Uint8Array, index: number): number => data[index] ?? 0;
