import { KILLS } from "../points.ts";
import type { DemoReport, StepReport, StoryReport } from "../report.ts";
import type { Printer } from "./printer.ts";
import type { Terminal } from "./terminal.ts";

const NAME_WIDTH = 15;

/** Each step as it happens, one line each. */
export const textPrinter = (terminal: Terminal): Printer => {
  const { bold, dim } = terminal.colors;
  let doing = "";
  return {
    audience: {
      demoStarted: ({ store, clock }) => terminal.line(dim(`store ${store}, clock ${clock}`)),
      storyStarted: (story) => terminal.line(`\n${bold(titleOf(story))}`),
      stepStarted: (step) => {
        doing = `  … ${step.name.padEnd(NAME_WIDTH)}${step.doing}`;
        terminal.passing(doing);
      },
      stepProgress: (progress) => terminal.passing(`${doing}: ${progress}`),
      stepEnded: (step) => printStep(terminal, step),
      storyEnded: () => {},
    },
    ended: (report) => printVerdict(terminal, report),
  };
};

const titleOf = ({ killAt }: Pick<StoryReport, "killAt">): string =>
  killAt === null
    ? "A worker thread dies inside its handler"
    : `A consumer process gets SIGKILL ${KILLS[killAt].when} (${killAt})`;

/** One step; if it is not ok, with what was expected of it. */
export const printStep = (terminal: Terminal, { name, ok, detail, expected }: StepReport): void => {
  const { green, red, bold } = terminal.colors;
  terminal.line(`  ${ok ? green("✔") : red("✘")} ${bold(name.padEnd(NAME_WIDTH))}${detail}`);
  for (const { what } of expected.filter((check) => !check.ok)) terminal.line(`    ${red(`not so: ${what}`)}`);
};

export const printVerdict = (terminal: Terminal, { ok, ms, stories }: DemoReport): void => {
  const { green, red } = terminal.colors;
  const steps = stories.flatMap((story) => story.steps);
  const failed = steps.filter((step) => !step.ok).length;
  const took = `${(ms / 1_000).toFixed(1)} s`;
  terminal.line();
  terminal.line(
    ok
      ? green(`✔ ${steps.length} steps, all as expected, in ${took}`)
      : red(`✘ ${failed} of ${steps.length} steps not as expected, in ${took}`),
  );
};
