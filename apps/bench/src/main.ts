/** `npm run bench -- memory sqlite postgres [--compare] [--question drain-inline …] [--runs 5] [--events 100000] [--json FILE]` */
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import pc from "picocolors";
import { endWith } from "./end-with.ts";
import { describeMachine, describeVersions } from "./machine.ts";
import { type Answers, type Comparison, measure, type Remark } from "./measure.ts";
import { PEERS, usePeer } from "./peers/index.ts";
import { PostgresHost } from "./postgres-host.ts";
import type { Question } from "./question.ts";
import { append } from "./questions/append.ts";
import { bareRead } from "./questions/bare-read/index.ts";
import { drainInline, drainThreads } from "./questions/drain.ts";
import { fetchSettle } from "./questions/fetch-settle.ts";
import { latency } from "./questions/latency.ts";
import { recovery } from "./questions/recovery.ts";
import { threadDeath } from "./questions/thread-death.ts";
import { type Report, summarise, toTable } from "./report.ts";
import { KNOWN_STORES, type Store, systemsOf } from "./systems.ts";

const QUESTIONS: readonly Question[] = [append, fetchSettle, bareRead, drainInline, drainThreads, latency, threadDeath, recovery];

interface Options {
  readonly question: readonly string[];
  readonly runs: number;
  readonly events: number;
  readonly pings: number;
  readonly json?: string;
  readonly compare: boolean;
  readonly postgresUrl?: string;
}

const parseCount = (text: string): number => {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("a whole number above 0 is expected");
};

const parseStore = (name: string, stores: readonly Store[]): readonly Store[] => {
  const store = KNOWN_STORES.find((known) => known === name);
  if (store !== undefined) return [...stores, store];
  throw new InvalidArgumentError(`known stores: ${KNOWN_STORES.join(", ")}`);
};

const parseQuestion = (name: string, names: readonly string[]): readonly string[] => {
  if (QUESTIONS.some((question) => question.name === name)) return [...names, name];
  throw new InvalidArgumentError(`known questions: ${QUESTIONS.map((question) => question.name).join(", ")}`);
};

const main = async (given: readonly Store[], options: Options, command: Command): Promise<void> => {
  const stores = given.length === 0 ? KNOWN_STORES : given;
  const machine = describeMachine();
  if (!stores.includes("postgres")) {
    if (options.compare) command.error("error: --compare goes with postgres");
    const report = summarise(machine, describeVersions(), await answersOf(stores, options, null));
    return show(report, options);
  }
  const starting = PostgresHost.start(options.postgresUrl ?? null);
  const stop = async (): Promise<void> => (await starting).stop();
  const strays: Remark[] = [];
  endWith(stop, options.compare ? (error) => void strays.push(strayOf(error)) : null);
  const host = await starting;
  try {
    const versions = { ...describeVersions(), postgres: host.version };
    const { samples, remarks } = await answersOf(stores, options, host);
    await show(summarise(machine, versions, { samples, remarks: [...remarks, ...strays] }), options);
  } finally {
    await stop();
  }
};

/** With other people's code in the process, an error that nobody waits for is reported, and the run goes on. */
const strayOf = (error: Error): Remark => ({ question: "at any time", system: "unknown", text: `not caught: ${String(error)}` });

const answersOf = async (stores: readonly Store[], options: Options, host: PostgresHost | null): Promise<Answers> => {
  const questions = QUESTIONS.filter(({ name }) => options.question.length === 0 || options.question.includes(name));
  const comparison =
    host !== null && options.compare
      ? { peers: PEERS, use: ((peer, ask) => usePeer(host, peer, ask)) satisfies Comparison["use"] }
      : null;
  const systems = stores.flatMap((store) => systemsOf(store, host));
  const { samples, remarks } = await measure({ questions, systems, comparison, runs: options.runs, scale: options });
  const documented = comparison !== null && questions.includes(recovery) ? documentedRecoveries() : [];
  return { samples, remarks: [...documented, ...remarks] };
};

/** Beside what was measured of Rheo: minutes and hours are not worth waiting for. */
const documentedRecoveries = (): readonly Remark[] =>
  PEERS.flatMap(({ name, version, recovery: text }) =>
    text === null ? [] : [{ question: "SIGKILL → events elsewhere", system: `${name} ${version}`, text }],
  );

const show = async (report: Report, { json }: Options): Promise<void> => {
  const { machine, versions } = report;
  const [load = 0] = loadavg();
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(`${machine.cpu}, ${machine.cores} cores, ${machine.platform}, ${named.join(", ")}`);
  console.log(`load ${machine.load} before, ${load.toFixed(2)} at the end`);
  if (machine.load > machine.cores / 2) console.log(pc.yellow("The machine was busy: take these numbers with care."));
  console.log(toTable(report));
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
};

await new Command("bench")
  .description("Measures Rheo beside the limits of its stores, and beside other queues on them.")
  .argument("[stores...]", `stores to measure: ${KNOWN_STORES.join(", ")}; default all`, parseStore, [])
  .option("-q, --question <name>", "only this question; may be repeated", parseQuestion, [])
  .option("--runs <n>", "runs of everything", parseCount, 3)
  .option("--events <n>", "events of a backlog", parseCount, 100_000)
  .option("--pings <n>", "events of a latency measurement", parseCount, 200)
  .option("--compare", "other queues on PostgreSQL, in the same run", false)
  .option("--postgres-url <url>", "a server that is there, instead of a private one")
  .option("--json <file>", "also write the results there")
  .action(main)
  .parseAsync();
