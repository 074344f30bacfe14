import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOAK = fileURLToPath(new URL("../../testing/dist/soak/main.js", import.meta.url));
const RHEO = fileURLToPath(new URL("../../rheo/dist/main.js", import.meta.url));
const seed = Number(process.env.RHEO_SEED ?? 20);

/** The report of a soak, which it prints also when it found something. */
const soak = (
  ...args: readonly string[]
): Promise<{ ok: boolean; violations: string[]; appended: number; faults: Record<string, number> }> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, [SOAK, "--json", "--rheo", RHEO, ...args], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(error ?? new Error(stderr));
      }
    });
  });

test.for(["sqlite", "postgres"])(
  `RHEO_SEED=${seed}: a short soak with three processes on %s finds no violation`,
  { timeout: 240_000 },
  async (store) => {
    const report = await soak("--store", store, "--seconds", "15", "--processes", "3", "--pace", "2", "--seed", String(seed));
    console.log(`\nsoak on ${store}, seed ${seed}: ${report.appended} events, faults ${JSON.stringify(report.faults)}`);
    expect(report.violations).toEqual([]);
    expect(report.appended).toBeGreaterThan(0);
    expect(Object.entries(report.faults).filter(([kind, count]) => count === 0 && kind !== "thread")).toEqual([]);
  },
);
