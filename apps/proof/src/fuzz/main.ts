/** The command: `npm run fuzz -- --help`. */
import { randomInt } from "node:crypto";
import Table from "cli-table3";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import pc from "picocolors";
import { DOORS } from "./doors.ts";

interface Flags {
  readonly minutes: number;
  readonly seed?: number;
  readonly door?: readonly string[];
  readonly json: boolean;
}

const MAX_SEED = 2 ** 31 - 1;
const MAX_MINUTES = 60 * 24 * 7;
const MINUTE_MS = 60_000;
/** Faults that are printed of each seed. */
const SHOWN = 3;

const number =
  (min: number, max: number, isWhole: boolean) =>
  (text: string): number => {
    const value = Number(text);
    if (value >= min && value <= max && (!isWhole || Number.isSafeInteger(value))) return value;
    throw new InvalidArgumentError(`It is a ${isWhole ? "whole " : ""}number from ${min} to ${max}.`);
  };

const doors = (text: string): readonly string[] => {
  const wanted = text.split(",");
  const unknown = wanted.find((name) => !DOORS.some(({ door }) => door.name === name));
  if (unknown === undefined) return wanted;
  throw new InvalidArgumentError(`There is no door "${unknown}"; there are: ${DOORS.map(({ door }) => door.name).join(", ")}.`);
};

const command = new Command("fuzz")
  .description(
    "Gives hostile values to everything that takes any, and damaged stores to everything that reads one: the answer is a value or an error with a public code, never a hang, a crash or a silent loss.",
  )
  .option("--minutes <n>", "how long", number(0, MAX_MINUTES, false), 1)
  .option("--seed <n>", "the first seed (default: a random one, which is printed)", number(1, MAX_SEED, true))
  .option("--door <names>", `only these, by commas: ${DOORS.map(({ door }) => door.name).join(", ")}`, doors)
  .option("--json", "one JSON document", false)
  .addHelpText("after", "\nExit codes: 0 no fault, 1 a fault, 2 wrong usage.")
  .allowExcessArguments(false)
  .exitOverride();

interface Tally {
  seeds: number;
  cases: number;
  values: number;
  refused: number;
  readonly failed: { readonly seed: number; readonly faults: readonly string[] }[];
}

const fuzz = async ({ minutes, seed: first = randomInt(1, MAX_SEED), door: only, json }: Flags): Promise<number> => {
  let isStopped = false;
  process.once("SIGINT", () => (isStopped = true));
  const wanted = DOORS.filter(({ door }) => only?.includes(door.name) ?? true);
  const tallies = new Map(
    wanted.map(({ door }): [string, Tally] => [door.name, { seeds: 0, cases: 0, values: 0, refused: 0, failed: [] }]),
  );
  const endMs = performance.now() + minutes * MINUTE_MS;
  for (let seed = first; !isStopped && (seed === first || performance.now() < endMs); seed = (seed % MAX_SEED) + 1) {
    for (const { door, cases } of wanted) {
      if (isStopped || (seed !== first && performance.now() >= endMs)) break;
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2Kseed ${seed}: ${door.name}`);
      const { counts, faults } = await door.knock(seed, cases);
      const tally = tallies.get(door.name);
      if (tally === undefined) continue;
      tally.seeds += 1;
      tally.cases += counts.calls;
      tally.values += counts.of("value");
      tally.refused += counts.of("refused");
      if (faults.length > 0) tally.failed.push({ seed, faults });
    }
  }
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[2K");
  console.log(json ? JSON.stringify({ first, doors: Object.fromEntries(tallies) }, null, 2) : asText(first, tallies));
  return [...tallies.values()].every(({ failed }) => failed.length === 0) ? 0 : 1;
};

const asText = (first: number, tallies: ReadonlyMap<string, Tally>): string => {
  const table = new Table({
    head: ["door", "seeds", "calls", "values", "refused", "seeds with faults"],
    style: { head: [], border: [] },
  });
  for (const [name, { seeds, cases, values, refused, failed }] of tallies)
    table.push([name, seeds, cases, values, refused, failed.length]);
  const faults = [...tallies].flatMap(([name, { failed }]) =>
    failed.flatMap(({ seed, faults: found }) => [
      `  npm run fuzz -- --minutes 0 --door ${name} --seed ${seed}`,
      ...found.slice(0, SHOWN).map((fault) => `    ${fault}`),
    ]),
  );
  return [
    table.toString(),
    `From seed ${first} on.`,
    faults.length === 0 ? pc.green("No fault.") : pc.red(faults.join("\n")),
  ].join("\n");
};

try {
  command.parse();
  process.exitCode = await fuzz(command.opts<Flags>());
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
