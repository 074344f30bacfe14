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

const FULL = 0xff;

/** The lowest index that is not in it. */
export const firstClear = (bits: Uint8Array): number => {
  let byte = 0;
  while (bits[byte] === FULL) byte += 1;
  let index = byte * 8;
  while (hasBit(bits, index)) index += 1;
  return index;
};

/** The highest index below `size` that is not in it; -1 when all are. */
export const lastClear = (bits: Uint8Array, size: number): number => {
  let index = size - 1;
  while (index >= 0 && hasBit(bits, index)) index -= index % 8 === 7 && bits[index >> 3] === FULL ? 8 : 1;
  return index;
};

/** The `size` bits from `start` on, as a set of their own. */
export const cutBits = (bits: Uint8Array, start: number, size: number): Uint8Array => {
  const cut = new Uint8Array((size + 7) >> 3);
  const shift = start & 7;
  for (let byte = 0, from = start >> 3; byte < cut.length; byte++, from++)
    cut[byte] = ((bits[from] ?? 0) >> shift) | ((bits[from + 1] ?? 0) << (8 - shift)); // the rest is cut off: it is a byte
  const over = cut.length * 8 - size;
  cut[cut.length - 1] = (cut[cut.length - 1] ?? 0) & (FULL >> over);
  return cut;
};
