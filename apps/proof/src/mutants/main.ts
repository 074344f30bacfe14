/** The command: `npm run mutants -- --help`. */
import { findRedis, startPostgres, startRedis } from "@rheo/testing/servers";
import Table from "cli-table3";
import { Command, CommanderError } from "commander";
import pc from "picocolors";
import { isStrict } from "./environment.ts";
import type { SourceMutant } from "./mutant.ts";
import type { ServerUrls } from "./run-killer.ts";
import { misplaced, runMutants, serversOf, soberness, type Verdict } from "./run-mutants.ts";
import { sourceMutants } from "./source-mutants.ts";

const command = new Command("mutants")
  .description(
    "Plants wrong versions of the real code, one at a time, and checks that a named test notices each. Nothing on disk is changed: the text is replaced as the file is loaded.",
  )
  .argument("[names...]", "only mutants whose names have one of these parts")
  .addHelpText(
    "after",
    "\nExit codes: 0 all were noticed, 1 one survived, or nothing can be said of one (its text is not found exactly once, its killer fails without it or, with CI=true, has no server), 2 wrong usage.",
  )
  .exitOverride();

interface Server {
  readonly url: string | null;
  stop(): Promise<void>;
}

const NONE: Server = { url: null, stop: async () => undefined };

const serve = async (name: string, isWanted: boolean, start: () => Promise<Server>): Promise<Server> => {
  if (!isWanted) return NONE;
  try {
    return await start();
  } catch (cause) {
    console.log(pc.red(`NOT RUN: the mutants of ${name}. ${cause instanceof Error ? cause.message : String(cause)}`));
    return NONE;
  }
};

const startRedisOrSay = async (): Promise<Server> => {
  if (findRedis() === null) throw new Error("There is no redis-server on this machine.");
  return await startRedis();
};

const withServers = async <Result>(
  mutants: readonly SourceMutant[],
  work: (urls: ServerUrls) => Promise<Result>,
): Promise<Result> => {
  const wanted = serversOf(mutants);
  const postgres = await serve("PostgreSQL", wanted.has("postgres"), () =>
    startPostgres({ fsync: "off", max_connections: "100" }),
  );
  const redis = await serve("Redis", wanted.has("redis"), startRedisOrSay);
  try {
    return await work({ postgres: postgres.url, redis: redis.url });
  } finally {
    await redis.stop();
    await postgres.stop();
  }
};

const BY_WIDTH = 60;

const print = (verdicts: readonly Verdict[]): void => {
  const table = new Table({
    head: ["mutant", "file", "fault", "noticed by", "ms"],
    colWidths: [34, 40, 48, BY_WIDTH, 7],
    wordWrap: true,
    style: { head: [], border: [], compact: true },
  });
  for (const { mutant, kind, by, tookMs } of verdicts)
    table.push([
      mutant.name,
      mutant.file.replace("packages/", ""),
      mutant.fault,
      kind === "killed" ? by : `${kind.toUpperCase()} ${by}`,
      Math.round(tookMs),
    ]);
  console.log(table.toString());
};

const isFailure = ({ kind }: Verdict): boolean => kind === "survived" || kind === "broken" || (kind === "not_run" && isStrict());

const run = async (names: readonly string[]): Promise<number> => {
  const mutants =
    names.length === 0 ? sourceMutants : sourceMutants.filter(({ name }) => names.some((part) => name.includes(part)));
  const lost = misplaced(mutants);
  for (const problem of lost) console.log(pc.red(`Its text is not where it was: ${problem}`));
  if (lost.length > 0) return 1;
  return await withServers(mutants, async (urls) => {
    const startMs = performance.now();
    const problems = await soberness(mutants, urls);
    for (const problem of problems) console.log(pc.red(`It fails without any mutant: ${problem}`));
    if (problems.length > 0) return 1;
    const verdicts = await runMutants(mutants, urls, ({ mutant, kind }) =>
      process.stderr.write(`${kind.padEnd(9)} ${mutant.name}\n`),
    );
    print(verdicts);
    const failures = verdicts.filter(isFailure);
    const seconds = Math.round((performance.now() - startMs) / 1_000);
    const hung = verdicts.filter(({ kind }) => kind === "hung").length;
    console.log(
      `${verdicts.length - failures.length} of ${verdicts.length} mutants were noticed (${hung} by hanging), in ${seconds} s`,
    );
    for (const { mutant, kind, by } of failures) console.log(pc.red(`${kind}: ${mutant.name}, ${mutant.fault}. ${by}`));
    return failures.length === 0 ? 0 : 1;
  });
};

const main = async (): Promise<number> => {
  try {
    command.parse();
    return await run(command.args);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
};

process.exitCode = await main();
