import type { ContractCase } from "../contract/case.ts";
import { runCase } from "../contract/describe-backend.ts";
import type { BackendUnderTest } from "../store.ts";

/** How long a case may hang on a mutant before it counts as failed, in ms. */
const HANG_MS = 2_000;

/** What became of one case. */
export interface Outcome {
  readonly contractCase: ContractCase;
  readonly passed: boolean;
  readonly tookMs: number;
}

/** Runs cases one after another on a backend, outside of any test runner, until `mostFailures` have failed. */
export const outcomes = async (
  backend: BackendUnderTest,
  cases: readonly ContractCase[],
  mostFailures: number = Number.POSITIVE_INFINITY,
): Promise<Outcome[]> => {
  const found: Outcome[] = [];
  let failed = 0;
  for (const contractCase of cases) {
    const startMs = performance.now();
    const passed = await passes(backend, contractCase);
    found.push({ contractCase, passed, tookMs: performance.now() - startMs });
    failed += passed ? 0 : 1;
    if (failed >= mostFailures) break;
  }
  return found;
};

/** The first `most` cases that fail on a backend: what kills a mutant. */
export const failures = async (
  backend: BackendUnderTest,
  cases: readonly ContractCase[],
  most: number = Number.POSITIVE_INFINITY,
): Promise<ContractCase[]> =>
  (await outcomes(backend, cases, most)).filter(({ passed }) => !passed).map(({ contractCase }) => contractCase);

const passes = async (backend: BackendUnderTest, contractCase: ContractCase): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, HANG_MS, false);
  });
  const run = runCase(backend, "two instances", contractCase).then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([run, hang]);
  } finally {
    clearTimeout(timer);
  }
};
