/** The command: reads the options, picks a printer, runs the demo, and turns its report into an exit code. */
import { RheoError } from "@rheo/core";
import { Command, CommanderError, Option } from "commander";
import { type DemoOptions, runDemo } from "./demo.ts";
import { EXIT, exitCodeOf } from "./exit-code.ts";
import { UsageError } from "./place.ts";
import { KILL_POINTS, type KillPoint } from "./points.ts";
import { jsonPrinter } from "./print/json.ts";
import type { Printer } from "./print/printer.ts";
import { tablePrinter } from "./print/table.ts";
import { Terminal } from "./print/terminal.ts";
import { textPrinter } from "./print/text.ts";
import type { ClockKind } from "./story-time.ts";

interface Flags {
  readonly killAt: KillPoint | "all";
  readonly clock: ClockKind;
  readonly store?: string;
  readonly keep: boolean;
  readonly json: boolean;
}

const EPILOGUE = `
Kill points, in the order of a consumer's loop:
  after-fetch    lease in hand, handler not begun
  in-handler     inside the handler
  after-handler  work done, right before the ack
  in-ack         while the ack is on its way: it lands or it does not, and both must be consistent
  after-ack      after the ack was answered: nothing comes again

With --json, one document: { ok, store, clock, node, ms, stories: [{ killed, killAt, ok, ms,
  outcome: { ackLanded, redelivery: { attempt, victimToken, token, afterMs }, lateAck: { code, why }, lag },
  steps: [{ name, ok, detail, ms, expected: [{ what, ok }] }] }] }

Exit codes: 0 all as expected, 1 something was not, 2 wrong usage.`;

/** Runs the demo with these arguments, and gives its exit code. */
export const main = async (args: readonly string[]): Promise<number> => {
  try {
    const command = createCommand();
    command.parse(args, { from: "user" });
    return await run(command.opts<Flags>());
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
};

const createCommand = (): Command =>
  new Command("rheo-demo")
    .description(
      "Kills a consumer process before its ack, and shows that a sibling gets the same event and that the dead one's late ack is refused. Then kills a worker thread.",
    )
    .addOption(
      new Option("--kill-at <point>", "where to kill the process").choices([...KILL_POINTS, "all"]).default("after-handler"),
    )
    .addOption(
      new Option("--clock <kind>", "move a frozen clock past the lease, or wait for a short one")
        .choices(["frozen", "real"])
        .default("frozen"),
    )
    .option("--store <url>", "sqlite:, lmdb:, postgres:, redis: or mongodb: (default: a temporary SQLite file)")
    .option("--keep", "leave the temporary file, or the demo's streams in the store", false)
    .option("--json", "one JSON document instead of text", false)
    .addHelpText("after", EPILOGUE)
    .allowExcessArguments(false)
    .exitOverride();

const run = async (flags: Flags): Promise<number> => {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interrupt.abort());
  process.stdout.on("error", () => interrupt.abort()); // nobody reads on, as with `| head`
  const printer = printerFor(flags);
  try {
    const report = await runDemo(toOptions(flags, interrupt.signal), printer.audience);
    if (interrupt.signal.aborted) return EXIT.interrupted;
    printer.ended(report);
    return exitCodeOf(report);
  } catch (error) {
    if (interrupt.signal.aborted) return EXIT.interrupted;
    return explain(error);
  }
};

const toOptions = ({ killAt, clock, store, keep }: Flags, signal: AbortSignal): DemoOptions => ({
  points: killAt === "all" ? KILL_POINTS : [killAt],
  clock,
  store: store ?? null,
  keep,
  signal,
});

const printerFor = ({ json, killAt }: Flags): Printer => {
  if (json) return jsonPrinter((text) => process.stdout.write(text));
  const terminal = new Terminal(process.stdout);
  return killAt === "all" ? tablePrinter(terminal) : textPrinter(terminal);
};

const explain = (error: unknown): number => {
  if (!(error instanceof UsageError) && !RheoError.is(error)) throw error;
  process.stderr.write(`rheo-demo: ${error.message}\n`);
  const isUsage = error instanceof UsageError || error.code === "invalid_option" || error.code === "unsupported";
  return isUsage ? EXIT.usage : EXIT.failed;
};
