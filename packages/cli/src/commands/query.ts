import type { Event, Query } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { addCommand } from "../command.ts";
import { oneOf, wholeNumber } from "../options/numbers.ts";
import { type MatchFlags, matchOptions, toQuery } from "../options/query.ts";
import { storeOptions } from "../options/store.ts";
import { eventLine, eventTable } from "../output/events.ts";
import { count } from "../output/format.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";

interface Flags extends MatchFlags, StoreFlags {
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly all?: boolean;
  readonly count?: boolean;
}

/** The most that the library gives at once. */
const MAX_LIMIT = 10_000;
/** Counting further takes long, and a rounder number would do. */
const MAX_COUNT = 10_000_000;

/** `rheo query`: events that match. */
export const query: CliCommand = {
  register: (program, io, ended) => {
    const command = matchOptions(addCommand(program, "query <stream>", "events that match"))
      .option("--order <order>", "asc or desc", oneOf("asc", "desc"), "asc")
      .option("--limit <n>", "at most so many", wholeNumber(1, MAX_LIMIT), 100)
      .option("--all", "every match, one by one, whatever their number")
      .option("--count", "only how many match");
    storeOptions(command).action(async (stream: string, flags: Flags) =>
      ended(await withStore(io, flags, (session) => run(session, stream, flags))),
    );
  },
};

const run = async (session: Session, stream: string, flags: Flags): Promise<number> => {
  const { rheo, print } = session;
  const match = toQuery(flags);
  if (flags.count === true) return tellCount(session, stream, match);
  if (flags.all === true) return tellAll(session, stream, { ...match, order: flags.order });
  const { events, nextCursor } = await rheo.queryPage(stream, { ...match, order: flags.order, limit: flags.limit });
  if (print.isJson) for (const event of events) print.value(event);
  else print.text(eventTable(print.screen, events));
  if (nextCursor !== null) print.note(`There are more than ${count(flags.limit)}: raise --limit, or --all`);
  return 0;
};

const tellCount = async ({ rheo, print }: Session, stream: string, match: Query): Promise<number> => {
  const found = await rheo.count(stream, { ...match, most: MAX_COUNT });
  if (print.isJson) print.value(found);
  else print.text(`${found.isExact ? "" : "at least "}${count(found.count)}`);
  return 0;
};

const tellAll = async (session: Session, stream: string, match: Query): Promise<number> => {
  for await (const event of session.rheo.scan(stream, match)) {
    if (session.signal.aborted) break;
    await tell(session, event);
  }
  return 0;
};

/** One event, when the reader is ready for it. */
export const tell = async ({ print, signal }: Session, event: Event): Promise<void> => {
  if (print.isJson) print.value(event);
  else print.text(eventLine(print.screen, event));
  await print.drained(signal);
};
