/** Numbers and times as people read them. */
const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const clockTime = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export const count = (value: number): string => whole.format(value);
/** 1,234 as it is, 1.2M where there are too many digits. */
export const shortCount = (value: number): string => (value < 100_000 ? whole.format(value) : short.format(value));
export const rate = (value: number): string =>
  `${value < 10 ? String(Math.round(value * 10) / 10) : shortCount(Math.round(value))}/s`;
export const instant = (ms: number): string => dateTime.format(ms);
export const timeOfDay = (ms: number): string => clockTime.format(ms);

export const bytes = (value: number): string => {
  if (value < 1_024) return `${value} B`;
  const kilo = value / 1_024;
  return kilo < 1_024 ? `${kilo.toFixed(1)} KiB` : `${(kilo / 1_024).toFixed(1)} MiB`;
};

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** Two units at most: "3 min 20 s". */
export const duration = (ms: number): string => {
  if (ms < 1_000) return "0 s";
  const at = UNITS.findIndex(([length]) => ms >= length);
  const parts: string[] = [];
  let left = ms;
  for (const [length, name] of UNITS.slice(at, at + 2)) {
    const amount = Math.floor(left / length);
    left -= amount * length;
    if (amount > 0) parts.push(`${amount} ${name}`);
  }
  return parts.join(" ");
};

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** What emoji are joined with: neither hides nor moves anything. */
const JOINER = "\u200d";

/** Stored text with what cannot be seen, or would move what is beside it, written out; line breaks and tabs stay if `lines`. */
export const visible = (text: string, lines = false): string =>
  text.toWellFormed().replaceAll(HIDDEN, (hidden) => {
    if (hidden === JOINER || (lines && (hidden === "\n" || hidden === "\t"))) return hidden;
    return `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`;
  });
