/** Numbers, times and sizes for people. */

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const ROUGH = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/** 1234567 → "1,234,567". */
export const count = (number: number): string => GROUPED.format(number);

/** "1 event", "2 events". */
export const counted = (number: number, one: string, many: string = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

/** Per second: three digits, or all of them above 100. */
export const rate = (perSecond: number): string => `${perSecond < 100 ? ROUGH.format(perSecond) : count(perSecond)}/s`;

/** [upper bound, length, unit] in ms. */
const UNITS = [
  [10_000, 1_000, "s", 1],
  [120_000, 1_000, "s", 0],
  [7_200_000, 60_000, "m", 0],
  [172_800_000, 3_600_000, "h", 0],
  [Number.POSITIVE_INFINITY, 86_400_000, "d", 0],
] as const;

/** A duration in ms as "850ms", "3.2s", "45s", "12m", "5h" or "9d". */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  const [, length, unit, digits] = UNITS.find(([below]) => ms < below) ?? UNITS[4];
  return `${(ms / length).toFixed(digits).replace(/\.0$/, "")}${unit}`;
};

/** How long ago, or how long until, as seen from `nowMs`. */
export const ago = (date: Date | null, nowMs: number): string => {
  if (date === null) return "";
  const ms = nowMs - date.getTime();
  return ms >= 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`;
};

/** "2026-01-01T12:00:00.000Z", or nothing. */
export const instant = (date: Date | null): string => date?.toISOString() ?? "";

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export const bytes = (size: number): string => {
  const power = Math.min(BYTES.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, size)) / 10)));
  return `${ROUGH.format(size / 1024 ** power)} ${BYTES[power]}`;
};
