import type { Event, StreamInfo } from "@rheo/core";
import { addCommand, type CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { type MatchFlags, matchOptions, toQuery } from "../options/query.ts";
import { storeOptions } from "../options/store.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";
import { tell } from "./query.ts";

interface Flags extends MatchFlags, StoreFlags {
  readonly last: number;
  readonly limit?: number;
}

const MAX_LAST = 10_000;

/** `rheo tail`: the last events, then each new one. */
export const tail: CliCommand = {
  register: (program, io, ended) => {
    const command = matchOptions(addCommand(program, "tail <stream>", "the last events, then each new one until Ctrl-C"))
      .option("--last <n>", "how many that are there already", wholeNumber(0, MAX_LAST), 10)
      .option("--limit <n>", "end after so many", wholeNumber(1, Number.MAX_SAFE_INTEGER));
    command.addHelpText("after", "\nWith --from or --after it begins there instead of at the last few.");
    storeOptions(command).action(async (stream: string, flags: Flags) =>
      ended(await withStore(io, flags, (session) => run(session, stream, flags), { heedsSignals: true })),
    );
  },
};

const run = async (session: Session, stream: string, flags: Flags): Promise<number> => {
  let left = flags.limit ?? Number.POSITIVE_INFINITY;
  for await (const event of follow(session, stream, flags)) {
    await tell(session, event);
    left -= 1;
    if (left === 0) break;
  }
  return 0;
};

/** The last events up to where every partition ends now, and from there on what comes: none is missed, and none comes twice. */
async function* follow({ rheo, signal }: Session, stream: string, flags: Flags): AsyncGenerator<Event, void, void> {
  const { to: _, ...query } = toQuery(flags);
  if (flags.from !== undefined || flags.after !== undefined) return yield* rheo.tail(stream, { ...query, signal });
  const ends = endsOf(await rheo.streamInfo(stream));
  if (flags.last > 0) {
    const last = await rheo.query(stream, { ...query, untilSequence: ends, order: "desc", limit: flags.last });
    yield* last.reverse();
  }
  yield* rheo.tail(stream, { ...query, afterSequence: ends, signal });
}

const endsOf = ({ partitions }: StreamInfo): Readonly<Record<number, number>> =>
  Object.fromEntries(partitions.map(({ partition, highWatermark }) => [partition, highWatermark]));
