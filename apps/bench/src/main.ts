/** `npm run bench -- [stores...]` measures; `npm run bench -- report` makes the pages of what was measured. */
import { Command, InvalidArgumentError } from "commander";
import { type MeasureOptions, measureAll, RUNTIME, type Subject } from "./command.ts";
import { drawFlames, SCENES } from "./flame/command.ts";
import { writePages } from "./page/write.ts";
import { QUESTIONS, RUNTIME_QUESTIONS } from "./questions/index.ts";
import { KNOWN_STORES } from "./systems.ts";

const parseCount = (text: string): number => {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("a whole number above 0 is expected");
};

const parseSubject = (name: string, subjects: readonly Subject[]): readonly Subject[] => {
  const subject = [...KNOWN_STORES, RUNTIME].find((known): known is Subject => known === name);
  if (subject !== undefined) return [...subjects, subject];
  throw new InvalidArgumentError(`known stores: ${KNOWN_STORES.join(", ")}; or ${RUNTIME}`);
};

const KNOWN_QUESTIONS = [...new Set([...QUESTIONS, ...RUNTIME_QUESTIONS].map(({ name }) => name))];

const parseQuestion = (name: string, names: readonly string[]): readonly string[] => {
  if (KNOWN_QUESTIONS.includes(name)) return [...names, name];
  throw new InvalidArgumentError(`known questions: ${KNOWN_QUESTIONS.join(", ")}`);
};

const parseScene = (name: string, names: readonly string[]): readonly string[] => {
  if (Object.hasOwn(SCENES, name)) return [...names, name];
  throw new InvalidArgumentError(`known flame graphs: ${Object.keys(SCENES).join(", ")}`);
};

const program = new Command("bench")
  .description("Measures Rheo beside the limits of its stores, and beside other queues on them.")
  .argument("[stores...]", `stores to measure: ${KNOWN_STORES.join(", ")}; default all; or ${RUNTIME}`, parseSubject, [])
  .option("-q, --question <name>", `only this question; may be repeated: ${KNOWN_QUESTIONS.join(", ")}`, parseQuestion, [])
  .option("--full", "the whole grid of every question, and depths of 10,000,000 events", false)
  .option("--runs <n>", "runs of everything", parseCount, 3)
  .option("--events <n>", "events of a backlog", parseCount, 50_000)
  .option("--pings <n>", "events of a latency measurement", parseCount, 200)
  .option("--deep <n>", "events of a deep backlog and of a long history; default 300,000, with --full 10,000,000", parseCount)
  .option(
    "--node <path>",
    "another Node, for the question nodes; may be repeated",
    (path: string, paths: string[]) => [...paths, path],
    [],
  )
  .option("--compare", "other queues on the same servers, in the same run", false)
  .option("--postgres-url <url>", "a PostgreSQL server that is there, instead of a private one")
  .option("--redis-url <url>", "a Redis server that is there, instead of a private one")
  .option("--mongo-url <url>", "a MongoDB replica set that is there, instead of a private double")
  .option("--nats-url <url>", "a NATS server with JetStream that is there, instead of a private one")
  .option("--json <file>", "keep the results there as they come; what is there already is not asked again")
  .option("--fresh", "begin the file anew", false)
  .action((stores: readonly Subject[], options: MeasureOptions, command: Command) => measureAll(stores, options, command));

program
  .command("report")
  .description("Makes docs/performance.md, docs/sizing.md and their charts of the results in apps/bench/results.")
  .action(writePages);

program
  .command("flame")
  .description("Draws flame graphs of what is done most into docs/pictures/profiles.")
  .argument("[names...]", `which; default all: ${Object.keys(SCENES).join(", ")}`, parseScene, [])
  .action(drawFlames);

await program.parseAsync();
