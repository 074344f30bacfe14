import Table from "cli-table3";
import { KILLS } from "../points.ts";
import type { DemoReport, StoryReport } from "../report.ts";
import type { Printer } from "./printer.ts";
import type { Terminal } from "./terminal.ts";
import { printStep, printVerdict } from "./text.ts";

const HEAD = ["killed", "its ack", "event comes again", "token", "late ack", "lag", ""];

/** A table at the end, one row for each story; until then only what is going on. */
export const tablePrinter = (terminal: Terminal): Printer => {
  let story = "";
  return {
    audience: {
      demoStarted: ({ store, clock }) => terminal.line(terminal.colors.dim(`store ${store}, clock ${clock}`)),
      storyStarted: ({ killAt }) => {
        story = killAt ?? "thread";
      },
      stepStarted: ({ doing }) => terminal.passing(`  … ${story}: ${doing}`),
      stepProgress: (progress) => terminal.passing(`  … ${story}: ${progress}`),
      stepEnded: () => {},
      storyEnded: () => {},
    },
    ended: (report) => printTable(terminal, report),
  };
};

const printTable = (terminal: Terminal, report: DemoReport): void => {
  const table = new Table({ head: HEAD.map(terminal.colors.bold), style: { head: [], border: [] } }); // no colour of its own
  for (const story of report.stories) table.push(rowOf(terminal, story));
  for (const line of table.toString().split("\n")) terminal.line(line);
  for (const story of report.stories) printFailures(terminal, story);
  printVerdict(terminal, report);
};

const printFailures = (terminal: Terminal, { killAt, ok, steps }: StoryReport): void => {
  if (ok) return;
  terminal.line(killAt ?? "thread");
  for (const step of steps) if (!step.ok) printStep(terminal, step);
};

const rowOf = ({ colors }: Terminal, story: StoryReport): string[] => {
  const { killed, killAt, ok, outcome } = story;
  const { redelivery, lateAck, lag } = outcome;
  return [
    killAt === null ? killed : `${killed} ${killAt}`,
    ackWord(story),
    redelivery === null ? "no" : `yes, attempt ${redelivery.attempt}`,
    redelivery === null ? "–" : `${redelivery.victimToken} → ${redelivery.token}`,
    lateAck === null ? "–" : `${lateAck.code} (${lateAck.why})`,
    lag === null ? "?" : String(lag),
    ok ? colors.green("✔") : colors.red("✘"),
  ];
};

const ackWord = ({ killAt, outcome: { ackLanded } }: StoryReport): string => {
  if (ackLanded === null) return "?";
  const wasSent = killAt !== null && KILLS[killAt].leaves !== "unsettled";
  return ackLanded ? "landed" : wasSent ? "cut off" : "not sent";
};
