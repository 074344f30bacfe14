/** `npm run bench -- runtime` or `npm run bench -- memory sqlite lmdb postgres redis mongo [--compare] [--question drain-inline …] [--runs 5] [--events 100000] [--json FILE]` */
import { writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { Command, InvalidArgumentError } from "commander";
import pc from "picocolors";
import { endWith } from "./end-with.ts";
import { Hosts } from "./hosts.ts";
import { describeMachine, describeVersions } from "./machine.ts";
import { type Answers, type Comparison, measure, type Remark } from "./measure.ts";
import { PEERS, usePeer } from "./peers/index.ts";
import type { Peer } from "./peers/peer.ts";
import type { Question } from "./question.ts";
import { append } from "./questions/append.ts";
import { bareRead } from "./questions/bare-read/index.ts";
import { drainInline, drainThreads } from "./questions/drain.ts";
import { fetchSettle } from "./questions/fetch-settle.ts";
import { latency } from "./questions/latency.ts";
import { pipelineFlow } from "./questions/pipeline.ts";
import { recovery } from "./questions/recovery.ts";
import { runtimeDispatch } from "./questions/runtime-dispatch.ts";
import { runtimeRebalance } from "./questions/runtime-rebalance.ts";
import { runtimeRenewal } from "./questions/runtime-renewal.ts";
import { searching } from "./questions/searching.ts";
import { threadDeath } from "./questions/thread-death.ts";
import { type Report, summarise, toTable } from "./report.ts";
import { KNOWN_STORES, type Store, systemsOf } from "./systems.ts";

const QUESTIONS: readonly Question[] = [
  append,
  fetchSettle,
  bareRead,
  drainInline,
  drainThreads,
  pipelineFlow,
  latency,
  searching,
  threadDeath,
  recovery,
];

/** Asked with the argument "runtime" only, by default on the store in memory, where the runtime is most of what is measured. */
const RUNTIME_QUESTIONS: readonly Question[] = [runtimeDispatch, threadDeath, runtimeRenewal, runtimeRebalance];
const RUNTIME = "runtime";

interface Options {
  readonly question: readonly string[];
  readonly runs: number;
  readonly events: number;
  readonly pings: number;
  readonly json?: string;
  readonly compare: boolean;
  readonly postgresUrl?: string;
  readonly redisUrl?: string;
  readonly mongoUrl?: string;
}

const parseCount = (text: string): number => {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("a whole number above 0 is expected");
};

type Subject = Store | typeof RUNTIME;

const parseSubject = (name: string, subjects: readonly Subject[]): readonly Subject[] => {
  const subject = [...KNOWN_STORES, RUNTIME].find((known): known is Subject => known === name);
  if (subject !== undefined) return [...subjects, subject];
  throw new InvalidArgumentError(`known stores: ${KNOWN_STORES.join(", ")}; or ${RUNTIME}`);
};

const parseQuestion = (name: string, names: readonly string[]): readonly string[] => {
  const known = new Set([...QUESTIONS, ...RUNTIME_QUESTIONS].map((question) => question.name));
  if (known.has(name)) return [...names, name];
  throw new InvalidArgumentError(`known questions: ${[...known].join(", ")}`);
};

const main = async (given: readonly Subject[], options: Options, command: Command): Promise<void> => {
  const ofRuntime = given.includes(RUNTIME);
  const named = given.filter((subject) => subject !== RUNTIME);
  const stores: readonly Store[] = named.length > 0 ? named : ofRuntime ? ["memory"] : KNOWN_STORES;
  const machine = describeMachine();
  const peers = options.compare ? PEERS.filter(({ store }) => stores.includes(store)) : [];
  if (options.compare && peers.length === 0) command.error("error: --compare goes with postgres and redis");
  const hosts = new Hosts(stores, {
    postgres: options.postgresUrl ?? null,
    redis: options.redisUrl ?? null,
    mongo: options.mongoUrl ?? null,
  });
  const strays: Remark[] = [];
  endWith(() => hosts.stop(), options.compare ? (error) => void strays.push(strayOf(error)) : null);
  try {
    const versions = { ...describeVersions(), ...(await hosts.versions()) };
    const asked = ofRuntime ? RUNTIME_QUESTIONS : QUESTIONS;
    const { samples, remarks } = await answersOf(asked, stores, peers, options, hosts);
    await show(summarise(machine, versions, { samples, remarks: [...remarks, ...strays] }), options);
  } finally {
    await hosts.stop();
  }
};

/** With other people's code in the process, an error that nobody waits for is reported, and the run goes on. */
const strayOf = (error: Error): Remark => ({ question: "at any time", system: "unknown", text: `not caught: ${String(error)}` });

const answersOf = async (
  asked: readonly Question[],
  stores: readonly Store[],
  peers: readonly Peer[],
  options: Options,
  hosts: Hosts,
): Promise<Answers> => {
  const chosen = [...new Set([...QUESTIONS, ...RUNTIME_QUESTIONS])].filter(({ name }) => options.question.includes(name));
  const questions = options.question.length === 0 ? asked : chosen;
  const use: Comparison["use"] = (peer, ask) => usePeer(hosts, peer, ask);
  const comparison = peers.length > 0 ? { peers, use } : null;
  const systems = (await Promise.all(stores.map((store) => systemsOf(store, hosts)))).flat();
  const { samples, remarks } = await measure({ questions, systems, comparison, runs: options.runs, scale: options });
  const documented = questions.includes(recovery) ? documentedRecoveries(peers) : [];
  return { samples, remarks: [...documented, ...remarks] };
};

/** Beside what was measured of Rheo: minutes and hours are not worth waiting for. */
const documentedRecoveries = (peers: readonly Peer[]): readonly Remark[] =>
  peers.flatMap(({ name, version, recovery: text }) =>
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
  .argument("[stores...]", `stores to measure: ${KNOWN_STORES.join(", ")}; default all; or ${RUNTIME}`, parseSubject, [])
  .option("-q, --question <name>", "only this question; may be repeated", parseQuestion, [])
  .option("--runs <n>", "runs of everything", parseCount, 3)
  .option("--events <n>", "events of a backlog", parseCount, 100_000)
  .option("--pings <n>", "events of a latency measurement", parseCount, 200)
  .option("--compare", "other queues on the same servers, in the same run", false)
  .option("--postgres-url <url>", "a PostgreSQL server that is there, instead of a private one")
  .option("--redis-url <url>", "a Redis server that is there, instead of a private one")
  .option("--mongo-url <url>", "a MongoDB replica set that is there, instead of a private double")
  .option("--json <file>", "also write the results there")
  .action(main)
  .parseAsync();
