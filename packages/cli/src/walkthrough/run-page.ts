import type { Step } from "./block.ts";
import type { Page } from "./page.ts";
import { type Outcome, PageRun, type PageRunOptions } from "./page-run.ts";

/** A block that ran, and what came of it. */
export interface Ran {
  readonly step: Step;
  readonly outcome: Outcome;
}

/** Runs a page to its end, or to the first block that does not do what the page says. */
export const runPage = async (page: Page, options: PageRunOptions): Promise<readonly Ran[]> => {
  const ran: Ran[] = [];
  await using run = await PageRun.open(page, options);
  for (const step of page.steps) {
    const outcome = await run.run(step);
    if (outcome !== null) ran.push({ step, outcome });
    if (outcome?.difference != null) break;
  }
  return ran;
};
