import { RheoError, type TrimOptions } from "@rheo/core";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { partitionList } from "../options/query.ts";
import { moment } from "../options/time.ts";
import { count, counted } from "../output/format.ts";
import { progress } from "../output/progress.ts";
import { changing } from "../session/changing.ts";
import type { Session } from "../session/session.ts";

interface Flags {
  readonly beforeSequence?: number;
  readonly before?: Date;
  readonly keepLast?: number;
  readonly partitions?: readonly number[];
  readonly force?: boolean;
}

const ANY = wholeNumber(0, Number.MAX_SAFE_INTEGER);

const options = (command: Command): Command =>
  command
    .option("--before-sequence <n>", "what comes before this sequence", ANY)
    .option("--before <time>", "what is older, such as 2026-01-31T12:00Z, or 30d", moment)
    .option("--keep-last <n>", "all but the last so many of each partition", ANY)
    .option("--partitions <list>", "only these, such as 0,2", partitionList)
    .option("--force", "also what groups have not settled; they skip it");

/** `rheo trim`: removes the oldest events. */
export const trim: CliCommand = changing<Flags>({
  usage: "trim <stream>",
  summary: "remove the oldest events, never what a group has not settled unless forced",
  asks: true,
  options,
  plan: async (session, [stream = ""], flags) => {
    const cut = toCut(flags);
    const { removed, heldBack } = await session.rheo.trim(stream, { ...cut, dryRun: true });
    return {
      order: `Remove ${counted(removed, "event")} of stream "${stream}"${held(heldBack)}`,
      expected: { stream, removed, heldBack },
      isDestructive: removed > 0,
      apply: async () => {
        const answer = await trimming(session, stream, cut, removed);
        return { data: { stream, ...answer }, told: `Removed: ${counted(answer.removed, "event")}${held(answer.heldBack)}.` };
      },
    };
  },
});

const held = (heldBack: number): string => (heldBack === 0 ? "" : `; ${count(heldBack)} stay, which groups have not settled`);

/** @throws invalid_option */
const toCut = ({ beforeSequence, before, keepLast, partitions, force = false }: Flags): TrimOptions => {
  const cuts = [
    ...(beforeSequence === undefined ? [] : [{ beforeSequence }]),
    ...(before === undefined ? [] : [{ before }]),
    ...(keepLast === undefined ? [] : [{ keepLast }]),
  ];
  const [cut] = cuts;
  if (cut === undefined || cuts.length > 1)
    throw new RheoError("invalid_option", "Say what to remove by one of --before-sequence, --before and --keep-last.");
  return { ...cut, force, ...(partitions === undefined ? {} : { partitions }) };
};

/** Large ones go in steps, which tell how far they are. */
const trimming = async (
  { rheo, io }: Session,
  stream: string,
  cut: TrimOptions,
  expected: number,
): ReturnType<Session["rheo"]["trim"]> => {
  const bar = progress(io, "Trimming", expected);
  let removed = 0;
  rheo.events.on("stream.trimmed", (step) => {
    removed += step.removed;
    bar.reached(removed);
  });
  try {
    return await rheo.trim(stream, cut);
  } finally {
    bar.end();
  }
};
