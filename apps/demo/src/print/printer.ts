import type { DemoAudience } from "../demo.ts";
import type { DemoReport } from "../report.ts";

/** One way of showing a demo. */
export interface Printer {
  /** Hears everything as it happens. */
  readonly audience: DemoAudience;
  readonly ended: (report: DemoReport) => void;
}
