/** For the tests of the documentation. Not covered by semver. */
export type { Step } from "./walkthrough/block.ts";
export { type Page, parsePage, readPage } from "./walkthrough/page.ts";
export { PageError } from "./walkthrough/page-error.ts";
export { type Outcome, PageRun, type PageRunOptions } from "./walkthrough/page-run.ts";
export { type Ran, runPage } from "./walkthrough/run-page.ts";
