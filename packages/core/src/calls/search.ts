/** Finding events: counts, indexes, and what led to what. */
import type { Backend } from "../backend.ts";
import { RheoError } from "../errors.ts";
import type { Event } from "../event.ts";
import { parseFilter } from "../filter.ts";
import { listUserStreams } from "../internal-streams.ts";
import { LIMITS } from "../limits.ts";
import { parseName } from "../names.ts";
import { parseList, parseNumber, parseOptions, parseText } from "../options.ts";
import { MATCH_NAMES, parseQuery, type Query } from "../query.ts";
import { countMatches } from "../reader.ts";
import type { AnyStream, Context } from "./context.ts";
import { getEvent, scan } from "./log.ts";

/** How many events match; `isExact` is false when there may be more than were counted. */
export interface Count {
  readonly count: number;
  readonly isExact: boolean;
}

const COUNT_MOST = 10_000_000;
const COUNT_DEFAULT = 10_000;

export const count = async (
  context: Context,
  stream: AnyStream,
  query: Omit<Query, "limit" | "order"> & { readonly most?: number },
): Promise<Count> => {
  const name = context.nameOf(stream);
  const { most: asked, ...rest } = parseOptions("count", query, [...MATCH_NAMES, "most"]);
  const most = parseNumber("most", asked, { min: 1, max: COUNT_MOST, fallback: COUNT_DEFAULT });
  const parsed = parseQuery(rest, await context.partitionsOf(name));
  const counted = await countMatches(context.backend, name, parsed, most + 1);
  return { count: Math.min(most, counted), isExact: counted <= most };
};

export const createIndex = async (context: Context, stream: AnyStream, path: string): Promise<void> => {
  const name = context.nameOf(stream);
  const checked = parsePath(path);
  const { backend } = context;
  if (backend.createIndex === undefined) throw withoutIndexes(backend);
  await backend.createIndex(name, checked);
};

export const dropIndex = async (context: Context, stream: AnyStream, path: string): Promise<boolean> => {
  const name = context.nameOf(stream);
  const checked = parsePath(path);
  const { backend } = context;
  if (backend.dropIndex === undefined) throw withoutIndexes(backend);
  return backend.dropIndex(name, checked);
};

export const listIndexes = async (context: Context, stream: AnyStream): Promise<readonly string[]> => {
  const name = context.nameOf(stream);
  await context.partitionsOf(name);
  return (await context.backend.listIndexes?.(name)) ?? [];
};

const parsePath = (path: unknown): string => {
  const text = parseText("path", path) ?? "";
  parseFilter({ [text]: { exists: true } });
  return text;
};

const withoutIndexes = ({ name }: Backend): RheoError =>
  new RheoError(
    "unsupported",
    `The store "${name}" has no indexes by content: queries look through the stream in bounded pages.`,
  );

/** An event with those that it led to. */
export interface LineageNode {
  readonly event: Event;
  /** By stream, partition and sequence. */
  readonly effects: readonly LineageNode[];
}

/** Where one event stands among those of its correlation. */
export interface EventLineage {
  readonly event: Event;
  /** The event that led to this one, the one that led to that, and so on, as far as they are there. */
  readonly causes: readonly Event[];
  /** Everything of the same correlation, as trees: one when nothing was trimmed. */
  readonly roots: readonly LineageNode[];
  /** More events than `limit` belong to it. */
  readonly truncated: boolean;
}

export const lineageOf = async (
  context: Context,
  stream: AnyStream,
  eventId: string,
  options: unknown,
): Promise<EventLineage | null> => {
  const raw = parseOptions("lineageOf", options, ["streams", "limit"]);
  const limit = parseNumber("limit", raw.limit, { min: 1, max: 10_000, fallback: 1_000 });
  const event = await getEvent(context, stream, eventId);
  if (event === null) return null;
  const streams = raw.streams === undefined ? await allStreams(context) : parseStreams(raw.streams);
  const correlation = event.metadata.correlationId;
  const correlationId = typeof correlation === "string" ? correlation : event.id;
  const family = new Map<string, Event>([[event.id, event]]);
  let truncated = false;
  for (const name of streams) {
    // the first of them all need not say that it correlates with itself
    const first = family.has(correlationId) ? null : await getEvent(context, name, correlationId);
    if (first !== null) family.set(first.id, first);
    for await (const found of scan(context, name, { correlationId })) {
      if (family.has(found.id)) continue;
      if (family.size >= limit) {
        truncated = true;
        break;
      }
      family.set(found.id, found);
    }
  }
  return { event, causes: causesOf(event, family), roots: treesOf(family), truncated };
};

const allStreams = async ({ backend }: Context): Promise<string[]> => {
  const names: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = await listUserStreams(backend, { after, limit: LIMITS.pageSize });
    names.push(...page.map(({ name }) => name));
    after = page.at(-1)?.name ?? null;
    if (page.length < LIMITS.pageSize || after === null) return names;
  }
};

/** Streams named one by one in a call. */
const MAX_STREAMS = 10_000;

const parseStreams = (value: unknown): string[] => {
  return parseList("streams", value, { min: 1, max: MAX_STREAMS }).map((name) => parseName("stream", name));
};

const causeOf = (event: Event, family: ReadonlyMap<string, Event>): Event | null => {
  const id = event.metadata.causationId;
  return typeof id === "string" && id !== event.id ? (family.get(id) ?? null) : null;
};

/** Metadata is the producers' word, which may go in circles. */
const causesOf = (event: Event, family: ReadonlyMap<string, Event>): Event[] => {
  const causes: Event[] = [];
  for (
    let cause = causeOf(event, family);
    cause !== null && cause !== event && !causes.includes(cause);
    cause = causeOf(cause, family)
  )
    causes.push(cause);
  return causes;
};

const treesOf = (family: ReadonlyMap<string, Event>): LineageNode[] => {
  const sorted = [...family.values()].sort(
    (a, b) => a.timestamp.getTime() - b.timestamp.getTime() || a.partition - b.partition || a.sequence - b.sequence,
  );
  const nodes = new Map(sorted.map((event) => [event.id, { event, effects: [] as LineageNode[] }]));
  const roots: LineageNode[] = [];
  for (const [, node] of nodes) {
    const causes = causesOf(node.event, family);
    const last = causes.at(-1);
    const circles = last !== undefined && causeOf(last, family) !== null;
    const cause = circles ? undefined : nodes.get(causes[0]?.id ?? "");
    (cause?.effects ?? roots).push(node);
  }
  return roots;
};
