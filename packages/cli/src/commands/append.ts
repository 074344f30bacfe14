import type { Event, EventInput } from "@rheo/core";
import { InvalidArgumentError } from "commander";
import { appendAll, type Lines } from "../append/append-all.ts";
import type { EventFlags } from "../append/parse-event.ts";
import { parserOf, sourceOf } from "../append/source.ts";
import { addCommand, type CliCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { wholeNumber } from "../options/numbers.ts";
import { MAX_PARTITION } from "../options/query.ts";
import { storeOptions } from "../options/store.ts";
import { moment } from "../options/time.ts";
import { place } from "../output/events.ts";
import { counted, rate } from "../output/format.ts";
import { inert } from "../output/inert.ts";
import { whileWorking } from "../output/progress.ts";
import { changeOptions } from "../session/changing.ts";
import { type Session, type StoreFlags, withStore } from "../session/session.ts";

interface Flags extends EventFlags, StoreFlags {
  readonly file?: string;
  readonly events?: boolean;
  readonly text?: boolean;
  readonly dryRun?: boolean;
}

const EPILOGUE = `
Without a payload, lines are read from --file or stdin: each is a payload, or with --events a whole event as
"rheo query --json" prints it: { payload, type, key, id, metadata, timestamp, partition }.
They are appended in batches; give ids, and a run that failed half way can be repeated.`;

/** `rheo append`: one event, or one for each line. */
export const append: CliCommand = {
  register: (program, io, ended) => {
    const command = addCommand(
      program,
      "append <stream> [payload]",
      "append an event, or one for each line of a file or of stdin",
    )
      .option("--file <path>", "lines of this file instead of stdin")
      .option("--events", "each line is a whole event")
      .option("--text", "the payload is text, not JSON")
      .option("--type <type>", "type of the event")
      .option("--key <key>", "key of the event")
      .option("--id <id>", "id of the event: appending it again writes nothing")
      .option("--partition <n>", "instead of the one of its key", wholeNumber(0, MAX_PARTITION))
      .option("--timestamp <time>", "instead of now", moment)
      .option("--correlation-id <id>", "what it belongs to")
      .option("--causation-id <id>", "the event that led to it")
      .option("--metadata <json>", "a flat object", metadata)
      .option("--expected-sequence <n>", "only while this is the last of the partition", wholeNumber(0, Number.MAX_SAFE_INTEGER))
      .addHelpText("after", EPILOGUE);
    changeOptions(command, false);
    storeOptions(command).action(async (stream: string, payload: string | undefined, flags: Flags) =>
      ended(await withStore(io, flags, (session) => run(session, stream, payload, flags), { heedsSignals: true })),
    );
  },
};

const metadata = (text: string): object => {
  const value = parsed(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new InvalidArgumentError(`Give a JSON object, quoted for the shell, as in '{"producer":"me"}'.`);
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const run = async (session: Session, stream: string, payload: string | undefined, flags: Flags): Promise<number> => {
  await session.rheo.streamInfo(stream);
  const { file, events, text, dryRun = false, store: _, json: __, ...common } = flags;
  const parse = parserOf({ events, text }, common);
  if (payload !== undefined) return appendOne(session, stream, parse(payload, "The payload"), dryRun);
  return appendLines(session, stream, { ...(await sourceOf(session.io, file, session.signal)), parse }, dryRun);
};

const appendOne = async ({ rheo, print }: Session, stream: string, event: EventInput, dryRun: boolean): Promise<number> => {
  if (dryRun) return tellDryRun(print, stream, 1);
  const appended = await rheo.append(stream, event);
  if (print.isJson) print.value(receipt(appended));
  else print.text(inert(`${stream} ${place(appended)} ${appended.id}`));
  return EXIT.ok;
};

const appendLines = async (session: Session, stream: string, source: Lines, dryRun: boolean): Promise<number> => {
  const { rheo, print, io, signal } = session;
  let done = 0;
  const startedAtMs = performance.now();
  const speed = (): number => (done * 1_000) / Math.max(1, performance.now() - startedAtMs);
  const work = appendAll(source, signal, async (events) => {
    const appended = dryRun ? [] : await rheo.appendMany(stream, events);
    done += events.length;
    if (print.isJson) for (const event of appended) print.value(receipt(event));
    await print.drained(signal);
    return appended;
  });
  try {
    await whileWorking(io, "Appending", work, () => `: ${counted(done, "event")}, ${rate(speed())}`);
  } finally {
    if (signal.aborted && !dryRun) print.note(`Ended early: ${counted(done, "event")} appended.`);
  }
  if (dryRun) return tellDryRun(print, stream, done);
  if (!print.isJson) print.text(inert(`${stream}: ${counted(done, "event")} appended, ${rate(speed())}`));
  return EXIT.ok;
};

/** Where an event went. */
const receipt = ({ id, stream, partition, sequence, timestamp }: Event): object => ({
  id,
  stream,
  partition,
  sequence,
  timestamp,
});

const tellDryRun = (print: Session["print"], stream: string, events: number): number => {
  if (print.isJson) print.value({ dryRun: true, stream, events });
  else print.text(inert(`Would append ${counted(events, "event")} to stream "${stream}".`));
  return EXIT.ok;
};
