/** Text from a store, made harmless for terminals. */

/**
 * Characters that a terminal or its reader could be deceived by: controls, also those above ASCII, line ends, changes of direction and what
 * is invisible; but not the joiners that scripts and emoji are made with.
 */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text with such characters written as escapes, such as `\n`, `\x1b` or `\u202e`. */
export const inert = (text: string): string =>
  text.replace(UNSAFE, (unsafe) => SHORT[unsafe] ?? (unsafe < "\u0100" ? `\\x${hex(unsafe, 2)}` : units(unsafe)));

/** JSON that is as harmless, and parses to the same value. */
export const inertJson = (value: unknown): string => JSON.stringify(value).replace(UNSAFE, units);

const units = (unsafe: string): string =>
  unsafe
    .split("")
    .map((unit) => `\\u${hex(unit, 4)}`)
    .join("");

const hex = (unit: string, digits: number): string => unit.charCodeAt(0).toString(16).padStart(digits, "0");
