import type { ContractCase } from "./case.ts";
import { edgeCases } from "./edges.ts";
import { errorCases } from "./errors.ts";
import { groupCases } from "./groups.ts";
import { inspectionCases } from "./inspection.ts";
import { isolationCases } from "./isolation.ts";
import { leaseCases } from "./leases.ts";
import { logCases } from "./log.ts";
import { orderingCases } from "./ordering.ts";
import { progressCases } from "./progress.ts";
import { reopeningCases } from "./reopening.ts";
import { searchingCases } from "./searching.ts";
import { settlingCases } from "./settling.ts";
import { transactionCases } from "./transactions.ts";

/** The whole contract. */
export const contractCases: readonly ContractCase[] = [
  ...logCases,
  ...groupCases,
  ...orderingCases,
  ...leaseCases,
  ...settlingCases,
  ...isolationCases,
  ...progressCases,
  ...reopeningCases,
  ...inspectionCases,
  ...searchingCases,
  ...errorCases,
  ...transactionCases,
  ...edgeCases,
];
