import { FrozenClock } from "@rheo/core";
import { afterAll, describe, test } from "vitest";
import { type BackendUnderTest, openStore } from "../store.ts";
import type { ContractCase } from "./case.ts";
import { contractCases } from "./cases.ts";
import { Report } from "./report.ts";
import { type Instances, World } from "./world.ts";

/** Bound on one case, in ms: far above what any takes, so that a store that hangs is a failure and not a silence. */
const CASE_TIMEOUT_MS = 30_000;

export interface DescribeBackendOptions extends BackendUnderTest {
  /** With how many instances on the store to run each case; default both. */
  readonly instances?: readonly Instances[];
}

/**
 * Registers the contract suite with vitest: every numbered rule, each against a new store, with one instance and with two. Where a
 * capability is off, the weaker rule is tested instead. Call it at the top of a test file.
 */
export const describeBackend = (options: DescribeBackendOptions): void => {
  describe(`contract of ${options.name}`, async () => {
    const { capabilities } = await probe(options);
    const report = new Report(options.name);
    const cases = contractCases.filter((candidate) => candidate.applies(capabilities));
    for (const instances of options.instances ?? (["one instance", "two instances"] as const)) {
      describe(instances, () => {
        for (const contractCase of cases) {
          test(contractCase.title, { timeout: CASE_TIMEOUT_MS }, () =>
            report.record(contractCase, () => runCase(options, instances, contractCase)),
          );
        }
      });
    }
    afterAll(() => report.finish());
  });
};

/** Runs one case in a world of its own. */
export const runCase = async (backend: BackendUnderTest, instances: Instances, contractCase: ContractCase): Promise<void> => {
  const world = await World.open(backend, instances);
  try {
    await contractCase.run(world);
  } finally {
    await world.close();
  }
};

/** What the backend says it can do, from a handle that is never opened. */
const probe = async (options: BackendUnderTest): Promise<{ capabilities: Parameters<ContractCase["applies"]>[0] }> => {
  const store = await openStore(options, new FrozenClock());
  const { capabilities } = store.backend;
  await store.dispose?.();
  return { capabilities };
};
