/** Bitmaps inside records that are text. */

export const toText = (bits: Uint8Array | null): string | null => (bits === null ? null : Buffer.from(bits).toString("base64"));

export const fromText = (text: string | null): Uint8Array | null =>
  text === null ? null : new Uint8Array(Buffer.from(text, "base64"));
