import { InvalidArgumentError } from "commander";

/** An option that is a whole number in a range. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };

const UNITS: Readonly<Record<string, number>> = { "": 1, ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A year: what any duration of Rheo's may be at most. */
const MAX_MS = 365 * 86_400_000;

/** An option that is a duration, such as 500ms, 30s, 2m, 1h or 7d; a bare number is ms. In ms. */
export const duration = (text: string): number => {
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  const ms = Math.round(Number(digits) * (Object.hasOwn(UNITS, unit) ? (UNITS[unit] ?? Number.NaN) : Number.NaN));
  if (digits !== "" && ms >= 0 && ms <= MAX_MS) return ms;
  throw new InvalidArgumentError("Give a duration such as 500ms, 30s, 2m, 1h or 7d.");
};

/** An option that is one of a few words. */
export const oneOf =
  <Word extends string>(...words: readonly Word[]) =>
  (text: string): Word => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Give one of ${words.join(", ")}.`);
  };
