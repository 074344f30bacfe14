/** `npm run bench -- memory sqlite [--question drain-inline …] [--runs 5] [--events 100000] [--json FILE]` */
import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import pc from "picocolors";
import type { Question, Sample } from "./question.ts";
import { append } from "./questions/append.ts";
import { bareRead } from "./questions/bare-read.ts";
import { drainInline, drainThreads } from "./questions/drain.ts";
import { fetchSettle } from "./questions/fetch-settle.ts";
import { latency } from "./questions/latency.ts";
import { threadDeath } from "./questions/thread-death.ts";
import { summarise, toTable } from "./report.ts";
import { KNOWN_STORES, type System, systemsOf } from "./systems.ts";

const QUESTIONS: readonly Question[] = [append, fetchSettle, bareRead, drainInline, drainThreads, latency, threadDeath];

interface Options {
  readonly question: readonly string[];
  readonly runs: number;
  readonly events: number;
  readonly pings: number;
  readonly json?: string;
}

const parseCount = (text: string): number => {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("a whole number above 0 is expected");
};

const parseStore = (name: string, stores: readonly string[]): readonly string[] => {
  if (KNOWN_STORES.includes(name)) return [...stores, name];
  throw new InvalidArgumentError(`known stores: ${KNOWN_STORES.join(", ")}`);
};

const parseQuestion = (name: string, names: readonly string[]): readonly string[] => {
  if (QUESTIONS.some((question) => question.name === name)) return [...names, name];
  throw new InvalidArgumentError(`known questions: ${QUESTIONS.map((question) => question.name).join(", ")}`);
};

const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${pc.dim(text)}`);
};

/** Every system in turn for every question, then again: what else the machine does falls on all alike. */
const measure = async (systems: readonly System[], options: Options): Promise<Sample[]> => {
  const questions = QUESTIONS.filter(({ name }) => options.question.length === 0 || options.question.includes(name));
  const samples: Sample[] = [];
  for (let run = 1; run <= options.runs; run++) {
    for (const question of questions) {
      for (const system of systems.filter((candidate) => question.fits?.(candidate) ?? true)) {
        progress(`run ${run} of ${options.runs}: ${question.title}, ${system.name} ${system.settings}`);
        samples.push(...(await question.ask(system, options)));
      }
    }
  }
  progress("");
  return samples;
};

const main = async (stores: readonly string[], options: Options): Promise<void> => {
  const systems = (stores.length === 0 ? KNOWN_STORES : stores).flatMap(systemsOf);
  const report = summarise(await measure(systems, options));
  const { machine, versions } = report;
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${machine.platform}, node ${versions.node}, load ${machine.load} at the end`,
  );
  if (machine.load > machine.cores * 1.5) console.log(pc.yellow("The machine was busy: take these numbers with care."));
  console.log(toTable(report));
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`);
};

await new Command("bench")
  .description("Measures Rheo beside the limits of its stores.")
  .argument("[stores...]", `stores to measure: ${KNOWN_STORES.join(", ")}; default all`, parseStore, [])
  .option("-q, --question <name>", "only this question; may be repeated", parseQuestion, [])
  .option("--runs <n>", "runs of everything", parseCount, 3)
  .option("--events <n>", "events of a backlog", parseCount, 100_000)
  .option("--pings <n>", "events of a latency measurement", parseCount, 200)
  .option("--json <file>", "also write the results there")
  .action(main)
  .parseAsync();
