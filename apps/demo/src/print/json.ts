import type { DemoAudience } from "../demo.ts";
import type { DemoReport } from "../report.ts";
import type { Printer } from "./printer.ts";

/** One JSON document at the end ({@link DemoReport}), and nothing before it. */
export const jsonPrinter = (write: (text: string) => void): Printer => ({
  audience: SILENT,
  ended: (report: DemoReport) => write(`${JSON.stringify(report, null, 2)}\n`),
});

const ignore = (): void => {};

const SILENT: DemoAudience = {
  demoStarted: ignore,
  storyStarted: ignore,
  stepStarted: ignore,
  stepProgress: ignore,
  stepEnded: ignore,
  storyEnded: ignore,
};
