const encoder = new TextEncoder();

/**
 * Text that every store accepts: no U+0000, no lone surrogates, at most `maxBytes` of UTF-8, never cut inside a character.
 */
export const cleanText = (text: string, maxBytes: number): string => {
  const cleaned = text.slice(0, maxBytes).replaceAll("\u0000", "\uFFFD").toWellFormed();
  if (cleaned.length * 3 <= maxBytes) return cleaned;
  const { read } = encoder.encodeInto(cleaned, new Uint8Array(maxBytes));
  return cleaned.slice(0, read);
};

/** Bytes of UTF-8. */
export const utf8Bytes = (text: string): number => Buffer.byteLength(text, "utf8");

/** Whether a string has something that a store would refuse or alter: U+0000 or a lone surrogate. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000");
