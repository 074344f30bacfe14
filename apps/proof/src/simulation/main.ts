/** The command: `npm run sim -- --help`. */
import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import Table from "cli-table3";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import pc from "picocolors";
import { COUNTED } from "./counts.ts";
import { type FleetReport, runFleet } from "./fleet.ts";
import { simulate } from "./simulate.ts";

interface Flags {
  readonly seeds: number;
  readonly from?: number;
  readonly seed?: number;
  readonly jobs: number;
  readonly json: boolean;
}

const MAX_SEED = 2 ** 31;
const MAX_SEEDS = 1_000_000_000;
/** Failed seeds that are printed with their violations. */
const SHOWN = 10;
const VIOLATIONS_SHOWN = 3;
/** Where nobody sits at the terminal, a line now and then is enough. */
const TELL_EVERY_MS = 60_000;

const whole =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`);
  };

const command = new Command("sim")
  .description(
    "Runs the real runtime, core and memory backend on virtual time, where everything goes wrong that a seed says: processes and threads die, stand still and are replaced, answers are lost, late or refused, clocks are off, somebody replays, resets and redrives. Checkers watch from outside; then the faults end, and all must drain.",
  )
  .option("--seeds <n>", "how many seeds", whole(1, MAX_SEEDS), 1_000)
  .option("--from <n>", "the first seed (default: a random one, which is printed)", whole(1, MAX_SEED))
  .option("--seed <n>", "only this one, with a line for everything that happens", whole(1, MAX_SEED))
  .option("--jobs <n>", "threads", whole(1, 256), availableParallelism())
  .option("--json", "one JSON document", false)
  .addHelpText(
    "after",
    "\nTold to stop (SIGINT, SIGTERM), it ends with what it has seen so far.\n\nExit codes: 0 no violation, 1 a violation, 2 wrong usage.",
  )
  .allowExcessArguments(false)
  .exitOverride();

const one = async (seed: number, json: boolean): Promise<number> => {
  const result = await simulate(seed, json ? {} : { trace: (line) => console.log(line) });
  console.log(json ? JSON.stringify(result, null, 2) : JSON.stringify(result.plan));
  if (!json) for (const violation of result.violations) console.log(pc.red(violation));
  return result.violations.length === 0 ? 0 : 1;
};

const many = async ({ seeds, from = randomInt(1, MAX_SEED - seeds), jobs, json }: Flags): Promise<number> => {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  const isSeen = process.stderr.isTTY && !json;
  let toldAtMs = performance.now();
  const clearLine = isSeen ? "\r\u001b[2K" : "";
  const report = await runFleet({
    from,
    seeds,
    jobs,
    signal: stop.signal,
    // a long run may be ended in the middle by others: what it found is not lost
    onFailure: ({ seed, violations }) => void process.stderr.write(`${clearLine}seed ${seed} has violations: ${violations[0]}\n`),
    onProgress: (done, failed) => {
      const line = `${done} of ${seeds} seeds, ${failed} with violations`;
      if (isSeen) return void process.stderr.write(`${clearLine}${line}`);
      if (performance.now() - toldAtMs < TELL_EVERY_MS) return;
      toldAtMs = performance.now();
      process.stderr.write(`${line}\n`);
    },
  });
  process.stderr.write(clearLine);
  console.log(json ? JSON.stringify(report, null, 2) : asText(report));
  return report.failed.length === 0 ? 0 : 1;
};

const asText = (report: FleetReport): string => {
  const table = new Table({ head: ["what happened", "times", "in % of the seeds"], style: { head: [], border: [] } });
  for (const name of COUNTED) {
    const share = (100 * report.seedsWith[name]) / report.seeds;
    table.push([name, report.counts[name].toLocaleString("en"), share.toFixed(1)]);
  }
  const lines = [
    table.toString(),
    `${report.seeds} seeds from ${report.from} in ${report.seconds.toFixed(1)} s: ${report.perSecond.toFixed(0)} per second, ${(report.steps / report.seeds).toFixed(0)} steps each, ${report.virtualHours.toFixed(1)} virtual hours.`,
    `${report.telling} of them count: something was handled, and something went wrong meanwhile.`,
    report.failed.length === 0 ? pc.green("No violation.") : pc.red(`${report.failed.length} seeds with violations:`),
    ...report.failed
      .slice(0, SHOWN)
      .flatMap(({ seed, violations }) => [
        `  npm run sim -- --seed ${seed}`,
        ...violations.slice(0, VIOLATIONS_SHOWN).map((violation) => `    ${violation}`),
      ]),
  ];
  return lines.join("\n");
};

try {
  command.parse();
  const flags = command.opts<Flags>();
  process.exitCode = flags.seed === undefined ? await many(flags) : await one(flags.seed, flags.json);
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
