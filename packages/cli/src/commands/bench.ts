import { randomBytes } from "node:crypto";
import { type Bench, type Measured, summarise } from "../bench/measure.ts";
import { measures } from "../bench/measures.ts";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { wholeNumber } from "../options/numbers.ts";
import { storeOptions } from "../options/store.ts";
import { bytes, count, counted, rate } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import { progress } from "../output/progress.ts";
import { type Column, table } from "../output/table.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";

interface Flags extends StoreFlags {
  readonly events: number;
  readonly bytes: number;
  readonly partitions: number;
  readonly dryRun?: boolean;
}

const EPILOGUE = `
It works on a stream of its own, which is removed at the end. It is honest work: others who use the store will notice it.`;

/** `rheo bench`: how fast this store is, from here. */
export const bench: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(program, "bench", "how fast this store is, from here")
      .option("--events <n>", "how many of each", wholeNumber(100, 1_000_000), 5_000)
      .option("--bytes <n>", "of each payload", wholeNumber(1, 1_000_000), 300)
      .option("--partitions <n>", "of the stream", wholeNumber(1, 1_024), 4)
      .option("--dry-run", "say what would happen, and change nothing")
      .addHelpText("after", EPILOGUE);
    storeOptions(command).action(async (flags: Flags) =>
      ended(await withStore(io, flags, (session) => run(session, flags), { heedsSignals: true })),
    );
  },
};

const run = async (session: Session, flags: Flags): Promise<number> => {
  const { rheo, print } = session;
  const stream = `rheo-bench-${randomBytes(6).toString("hex")}`;
  if (flags.dryRun === true) return tellDryRun(session, flags);
  await rheo.createStream(stream, { partitions: flags.partitions });
  const found: Measured[] = [];
  try {
    for (const measure of measures) {
      if (session.signal.aborted) break;
      const measured = await take(session, stream, measure, flags);
      if (print.isJson) print.value(measured);
      found.push(measured);
    }
  } finally {
    await rheo.deleteStream(stream, { confirm: true });
  }
  if (!print.isJson) print.text(table(print.screen, columns, found));
  return EXIT.ok;
};

const take = async (session: Session, stream: string, measure: (typeof measures)[number], flags: Flags): Promise<Measured> => {
  const { rheo, io, signal } = session;
  const events = measure.events(flags.events);
  const bar = progress(io, measure.name, events);
  let done = 0;
  const reached = (number: number): void => {
    done = number;
    bar.reached(number);
  };
  const work: Bench = { rheo, stream, events, payload: "x".repeat(flags.bytes), signal, reached };
  const startedAtMs = performance.now();
  try {
    const steps = await measure.run(work);
    return summarise(measure.name, done, performance.now() - startedAtMs, steps);
  } finally {
    bar.end();
  }
};

const tellDryRun = ({ print }: Session, flags: Flags): number => {
  const events = measures.reduce((sum, measure) => sum + measure.events(flags.events), 0);
  if (print.isJson) print.value({ dryRun: true, events, bytes: events * flags.bytes });
  else
    print.text(
      inert(
        `Would append and consume ${counted(events, "event")} (${bytes(events * flags.bytes)}) on a stream of its own, and remove it.`,
      ),
    );
  return EXIT.ok;
};

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(2) : Math.round(ms)} ms`;

const columns: readonly Column<Measured>[] = [
  { head: "", value: ({ measure }) => measure },
  { head: "EVENTS", value: ({ events }) => count(events), align: "right" },
  { head: "RATE", value: ({ perSecond }) => rate(perSecond), align: "right" },
  { head: "P50", value: ({ p50Ms }) => milliseconds(p50Ms), align: "right" },
  { head: "P95", value: ({ p95Ms }) => milliseconds(p95Ms), align: "right" },
  { head: "P99", value: ({ p99Ms }) => milliseconds(p99Ms), align: "right" },
];
