/** How much of the file is mapped. A map that cannot be made or cannot grow ends the process in lmdb-js 3.5, so it never comes to that. */
import { readFileSync } from "node:fs";

export interface MapPlan {
  /** Reserved at first, in bytes: address space alone, neither memory nor disk. */
  readonly bytes: number;
  /** It must not grow beyond that. */
  readonly isLimit: boolean;
}

/** More than nearly any store needs; beyond it all of the file is mapped anew, twice as far. */
const ROOMY_BYTES = 274_877_906_944;
/** Under a limit on address space, the share of it that the map may have. */
const LIMITED_SHARE = 0.25;
const LEAST_BYTES = 67_108_864;

export const planMap = (limits: string | null): MapPlan => {
  const [, soft] = /^Max address space\s+(\d+)/m.exec(limits ?? "") ?? [];
  if (soft === undefined) return { bytes: ROOMY_BYTES, isLimit: false };
  return { bytes: Math.max(LEAST_BYTES, Math.min(ROOMY_BYTES, Math.floor(Number(soft) * LIMITED_SHARE))), isLimit: true };
};

/** The limits of this process; null where the system does not list them. */
export const limitsOfThisProcess = (): string | null => {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return null;
  }
};
