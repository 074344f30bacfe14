import type { Step } from "./block.ts";
import type { Page } from "./page.ts";
import type { Outcome } from "./page-run.ts";

/** Who is told how a walkthrough goes. */
export interface Teller {
  /** @param folder - where it plays */
  began(page: Page, folder: string): void;
  /** Before it runs. */
  shows(step: Step): void;
  ran(step: Step, outcome: Outcome): void;
  ended(page: Page, blocks: number): void;
}
