import type { LogLine, ProcessEvent } from "@rheo/runtime";

/** One way of showing `rheo start`. */
export interface StartPrinter {
  /** Something has happened to a process. */
  event(event: ProcessEvent): void;
  /** A process has written a line. */
  line(line: LogLine): void;
  /** Something about the consumers of this process, when they run in it. */
  info(text: string): void;
  warn(text: string): void;
  /** All consumers run, in so many processes. */
  ready(processes: number): void;
}
