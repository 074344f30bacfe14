/** The only place that reads the environment. */

/** `count`, multiplied by RHEO_RUNS (default 1): how often random tests run. */
export const runs = (count: number): number => {
  const factor = Number(process.env.RHEO_RUNS ?? "1");
  return Math.max(1, Math.round(count * (Number.isFinite(factor) && factor > 0 ? factor : 1)));
};

/** RHEO_SEED, or `fallback`: the first seed of random tests. */
export const firstSeed = (fallback: number): number => {
  const seed = Number(process.env.RHEO_SEED ?? "");
  return Number.isSafeInteger(seed) && seed > 0 ? seed : fallback;
};

/** Whether what takes longest is asked for (RHEO_LONG), as `npm run test:long` does. */
export const isLong = (): boolean => process.env.RHEO_LONG !== undefined;

/** Where to write what passed and failed (RHEO_REPORT: a path, or "1" for ./contract-results.json), or null. */
export const reportPath = (): string | null => {
  const given = process.env.RHEO_REPORT;
  if (given === undefined || given === "" || given === "0") return null;
  return given === "1" ? "contract-results.json" : given;
};
