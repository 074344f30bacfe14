/** Streams and their events: create, append, read, trim. */
import { throwIfAborted } from "../appender.ts";
import type { StreamRecord, TrimAnswer, TrimRequest } from "../backend.ts";
import { RheoError, streamNotFound } from "../errors.ts";
import { type Event, type EventInput, toEvent } from "../event.ts";
import { assignmentStream, groupNames, listUserStreams, retentionStream } from "../internal-streams.ts";
import { LIMITS } from "../limits.ts";
import {
  lengthOf,
  parseBoolean,
  parseDate,
  parseExactlyOne,
  parseList,
  parseNumber,
  parseOptions,
  parseSignal,
  parseText,
  requireConfirm,
} from "../options.ts";
import { parsePartitions, parseQuery, QUERY_NAMES, type Query } from "../query.ts";
import { type Page, readOn, readPage } from "../reader.ts";
import { applySchema, isVersioned, newestShape, type StreamRef, withVersion } from "../schema.ts";
import { type StreamInfo, toStreamInfo } from "../views.ts";
import { WAIT_POLL_MS } from "../waiting.ts";
import type { AnyStream, Context } from "./context.ts";
import { parsePage } from "./page.ts";

export const createStream = async (context: Context, stream: AnyStream, options: unknown): Promise<StreamInfo> => {
  const { record, created } = await makeStream(context, stream, options);
  if (created) return infoOf(context, record);
  const { name } = record;
  throw new RheoError("already_exists", `Stream "${name}" exists already. ensureStream returns it as it is.`, { stream: name });
};

export const ensureStream = async (context: Context, stream: AnyStream, options: unknown): Promise<StreamInfo> => {
  const { record, wanted } = await makeStream(context, stream, options);
  const { name, partitions } = record;
  if (wanted === null || partitions === wanted) return infoOf(context, record);
  throw new RheoError(
    "already_exists",
    `Stream "${name}" exists with ${partitions} partitions, not ${wanted}. Partitions are fixed at creation.`,
    { stream: name },
  );
};

/** `wanted`: the partition count that was asked for, or null. */
const makeStream = async (
  context: Context,
  stream: AnyStream,
  options: unknown,
): Promise<{ record: StreamRecord; created: boolean; wanted: number | null }> => {
  const name = context.nameOf(stream);
  const raw = parseOptions("createStream", options, ["partitions"]);
  const asked = raw.partitions ?? (typeof stream === "object" ? stream.partitions : undefined);
  const partitions = parseNumber("partitions", asked, { min: 1, max: LIMITS.partitions, fallback: 1 });
  const { stream: record, created } = await context.backend.createStream(name, partitions);
  context.appender.forget(name);
  if (created) context.emit("stream.created", { stream: name, partitions });
  return { record, created, wanted: asked === undefined ? null : partitions };
};

const infoOf = async ({ backend }: Context, { name, createdAtMs }: StreamRecord): Promise<StreamInfo> =>
  toStreamInfo(name, createdAtMs, await backend.watermarks(name));

export const streamInfo = async (context: Context, stream: AnyStream): Promise<StreamInfo> => {
  const name = context.nameOf(stream);
  const record = await context.backend.getStream(name);
  if (record === null) throw streamNotFound(name);
  return infoOf(context, record);
};

export const listStreams = async (
  context: Context,
  options: unknown,
): Promise<{ name: string; partitions: number; createdAt: Date }[]> => {
  context.check();
  const records = await listUserStreams(context.backend, parsePage("listStreams", options));
  return records.map(({ name, partitions, createdAtMs }) => ({ name, partitions, createdAt: new Date(createdAtMs) }));
};

export const deleteStream = async (context: Context, stream: AnyStream, options: unknown): Promise<void> => {
  const name = context.nameOf(stream);
  requireConfirm(`Deleting stream "${name}" and its groups`, parseOptions("deleteStream", options, ["confirm"]).confirm);
  const { backend } = context;
  const groups = await groupNames(backend, name);
  if (!(await backend.deleteStream(name))) throw streamNotFound(name);
  for (const group of groups) await backend.deleteStream(assignmentStream(name, group));
  await backend.deleteStream(retentionStream(name));
  context.appender.forget(name);
  context.forgetGroups();
  context.emit("stream.deleted", { stream: name });
};

export const appendMany = async (
  context: Context,
  stream: AnyStream,
  events: readonly EventInput[],
  options: unknown,
): Promise<Event[]> => {
  const name = context.nameOf(stream);
  const raw = parseOptions("append", options, ["transaction", "signal"]);
  context.checkTransaction(raw.transaction);
  const signal = parseSignal(raw.signal);
  throwIfAborted(signal);
  const count = lengthOf("events", events);
  if (count > LIMITS.appendEvents)
    throw new RheoError("event_too_large", `${count} events in one call; the limit is ${LIMITS.appendEvents}. Split the batch.`);
  const given = parseList("events", events, { min: 0, max: LIMITS.appendEvents }) as readonly EventInput[]; // each is looked at below
  const isDefined = typeof stream === "object" && (stream.schema !== null || stream.version !== null);
  const checked = isDefined ? await checkAll(stream, given) : given;
  const drafts = checked.map((event, index) => context.appender.draft(event, index));
  return context.appender.append(name, drafts, { transaction: raw.transaction, signal });
};

const checkAll = async (stream: StreamRef<unknown, unknown>, events: readonly EventInput[]): Promise<EventInput[]> => {
  const checked: EventInput[] = [];
  for (const [index, event] of events.entries()) {
    try {
      checked.push({
        ...event,
        payload: await applySchema(stream, event?.payload),
        metadata: withVersion(stream, event?.metadata),
      });
    } catch (error) {
      throw RheoError.is(error) ? error.at(index) : error;
    }
  }
  return checked;
};

export const getEvent = async (context: Context, stream: AnyStream, id: string): Promise<Event | null> => {
  const name = context.nameOf(stream);
  const [record] = await context.backend.readIds(name, [parseText("id", id) ?? ""]);
  return record == null ? null : newestShape(stream, toEvent(name, record));
};

export const queryPage = async (
  context: Context,
  stream: AnyStream,
  query: Query & { readonly cursor?: string | null },
  atDamage: "throw" | "stop" = "stop",
): Promise<Page> => {
  const name = context.nameOf(stream);
  const { cursor, ...rest } = parseOptions("query", query, [...QUERY_NAMES, "cursor"]);
  const page = await readPage(context.backend, name, parseQuery(rest, await context.partitionsOf(name)), cursor, atDamage);
  return isVersioned(stream) ? { ...page, events: page.events.map((event) => newestShape(stream, event)) } : page;
};

/** Events of one page of `scan` and `tail`. */
const SCAN_PAGE = 1_000;

export async function* scan(context: Context, stream: AnyStream, query: Omit<Query, "limit">): AsyncGenerator<Event, void, void> {
  const wanted = parseOptions("query", query, QUERY_NAMES);
  let cursor: string | null = null;
  do {
    const page: Page = await queryPage(context, stream, { ...wanted, limit: SCAN_PAGE, cursor } as Parameters<
      typeof queryPage
    >[2]); // looked at there
    yield* page.events;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

export async function* tail(
  context: Context,
  stream: AnyStream,
  query: Omit<Query, "limit" | "order" | "to"> & { readonly signal?: AbortSignal },
): AsyncGenerator<Event, void, void> {
  const name = context.nameOf(stream);
  const { signal: given, ...rest } = parseOptions("query", query, [...QUERY_NAMES, "signal"]);
  const signal = parseSignal(given);
  const parsed = parseQuery({ ...rest, limit: SCAN_PAGE }, await context.partitionsOf(name));
  let positions: (number | null)[] | null = null;
  while (!context.closed && !signal?.aborted) {
    const woken = context.waiting.wait(WAIT_POLL_MS, signal);
    const found: Awaited<ReturnType<typeof readOn>> = await readOn(context.backend, name, parsed, positions);
    positions = found.positions;
    for (const event of found.events) {
      if (signal?.aborted) return;
      yield newestShape(stream, event);
    }
    if (!found.more) await woken;
  }
}

export const trim = async (context: Context, stream: AnyStream, options: unknown): Promise<TrimAnswer> => {
  const name = context.nameOf(stream);
  const raw = parseOptions("trim", options, ["beforeSequence", "before", "keepLast", "partitions", "force", "dryRun"]);
  const cut = parseCut(raw);
  const partitions = parsePartitions(raw.partitions, await context.partitionsOf(name));
  const [force, dryRun] = [parseBoolean("force", raw.force, false), parseBoolean("dryRun", raw.dryRun, false)];
  for (let removed = 0; ; ) {
    const { more, ...step } = await context.backend.trim({ stream: name, cut, partitions, force, dryRun });
    if (!dryRun) context.emit("stream.trimmed", { stream: name, ...step });
    removed += step.removed;
    if (!more) return { removed, heldBack: step.heldBack };
  }
};

const parseCut = (raw: Partial<Record<"beforeSequence" | "before" | "keepLast", unknown>>): TrimRequest["cut"] => {
  parseExactlyOne("trim", raw, ["beforeSequence", "before", "keepLast"]);
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
  if (raw.beforeSequence !== undefined)
    return { kind: "sequence", before: parseNumber("beforeSequence", raw.beforeSequence, bounds) };
  const beforeMs = parseDate("before", raw.before);
  return beforeMs === null ? { kind: "keep", last: parseNumber("keepLast", raw.keepLast, bounds) } : { kind: "time", beforeMs };
};
