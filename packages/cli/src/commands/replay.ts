import { type ReplayScope, type Rheo, RheoError } from "@rheo/core";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { contentOptions, type MatchFlags, partitionList, toQuery } from "../options/query.ts";
import { moment } from "../options/time.ts";
import { counted } from "../output/format.ts";
import { progress } from "../output/progress.ts";
import { changing } from "../session/changing.ts";
import type { Session } from "../session/session.ts";

interface Flags extends Pick<MatchFlags, "type" | "key" | "correlationId" | "where" | "from" | "to"> {
  readonly fromSequence?: number;
  readonly partitions?: readonly number[];
}

const options = (command: Command): Command =>
  contentOptions(
    command
      .option("--from-sequence <n>", "what comes after this sequence; 0: everything", wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .option("--from <time>", "not before this time, such as 2026-01-31T12:00Z, or 15m ago", moment)
      .option("--to <time>", "before this time", moment),
  ).option("--partitions <list>", "only these, such as 0,2", partitionList);

/** `rheo replay`: what was offered already is offered once more. */
export const replay: CliCommand = changing<Flags>({
  usage: "replay <stream> <group>",
  summary: "offer a group once more what it was offered already: after a sequence, from a time, or what matches",
  asks: true,
  options,
  plan: async (session, [stream = "", group = ""], flags) => {
    const { rheo } = session;
    const scope = toScope(flags);
    const partitions = flags.partitions ?? (await rheo.streamInfo(stream)).partitions.map(({ partition }) => partition);
    const { reopened: expected } = await rheo.replay(stream, group, { ...scope, partitions, dryRun: true });
    return {
      order: `Replay ${counted(expected, "delivery", "deliveries")} of group "${group}" of stream "${stream}"`,
      expected: { stream, group, reopened: expected },
      isDestructive: expected > 0,
      apply: async () => {
        const reopened = await replayEach(session, { stream, group, scope, partitions, expected });
        return { data: { stream, group, reopened }, told: `Re-opened: ${counted(reopened, "delivery", "deliveries")}.` };
      },
    };
  },
});

/** @throws invalid_option */
const toScope = ({ fromSequence, ...match }: Flags): ReplayScope => {
  const query = toQuery(match);
  const isQuery = Object.keys(query).some((name) => name !== "from");
  if (fromSequence !== undefined && Object.keys(query).length === 0) return { fromSequence };
  if (fromSequence !== undefined) return { query: { ...query, afterSequence: fromSequence } };
  if (isQuery) return { query };
  if (match.from !== undefined) return { from: match.from };
  throw new RheoError(
    "invalid_option",
    "Say what to replay: --from-sequence, --from, or what matches, such as --type. Everything: --from-sequence 0.",
  );
};

interface Replay {
  readonly stream: string;
  readonly group: string;
  readonly scope: ReplayScope;
  readonly partitions: readonly number[];
  /** How many deliveries it comes to. */
  readonly expected: number;
}

/** Partition by partition, each in one step, so that consumers of the others go on and it is seen how far it has got. */
const replayEach = async ({ rheo, io }: Session, { stream, group, scope, partitions, expected }: Replay): Promise<number> => {
  const bar = progress(io, "Replaying", expected);
  let reopened = 0;
  try {
    for (const partition of partitions) {
      reopened += await replayOne(rheo, stream, group, { ...scope, partitions: [partition] });
      bar.reached(reopened);
    }
    return reopened;
  } finally {
    bar.end();
  }
};

/** That one partition does not reach the sequence is no failure where others do. */
const replayOne = async (rheo: Rheo, stream: string, group: string, scope: ReplayScope): Promise<number> => {
  try {
    return (await rheo.replay(stream, group, scope)).reopened;
  } catch (error) {
    if (RheoError.is(error, "nothing_to_replay")) return 0;
    throw error;
  }
};
