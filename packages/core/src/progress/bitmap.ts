/** Sets of positions as bits. A missing bitmap is the empty set. */

export const hasBit = (bits: Uint8Array | null, index: number): boolean =>
  bits !== null && ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;

/** A copy with the bits of `indexes` set, at least `size` bits wide. */
export const withBits = (bits: Uint8Array | null, size: number, indexes: Iterable<number>): Uint8Array => {
  const copy = new Uint8Array((size + 7) >> 3);
  if (bits !== null) copy.set(bits.subarray(0, copy.length));
  for (const index of indexes) copy[index >> 3] = (copy[index >> 3] ?? 0) | (1 << (index & 7));
  return copy;
};
