/** Replay, reset, redrive, purge. */
import type { RedriveRequest, ReplayRequest } from "../backend.ts";
import { RheoError } from "../errors.ts";
import { parseFilter } from "../filter.ts";
import { parseStart } from "../group.ts";
import {
  parseBoolean,
  parseDate,
  parseExactlyOne,
  parseList,
  parseNumber,
  parseOptions,
  parseText,
  requireConfirm,
} from "../options.ts";
import { parsePartitions, parseQuery } from "../query.ts";
import type { AnyStream, Context } from "./context.ts";

export const replay = async (
  context: Context,
  stream: AnyStream,
  group: string,
  scope: unknown,
): Promise<{ readonly reopened: number }> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("replay", scope, ["fromSequence", "from", "query", "partitions", "dryRun"]);
  const count = await context.partitionsOf(name);
  const partitions = parsePartitions(raw.partitions, count);
  const dryRun = parseBoolean("dryRun", raw.dryRun, false);
  const reopened = await context.backend.replay({ stream: name, group, partitions, scope: parseScope(raw, count), dryRun });
  if (!dryRun) context.emit("group.replayed", { stream: name, group, reopened });
  return { reopened };
};

const parseScope = (
  raw: Partial<Record<"fromSequence" | "from" | "query", unknown>>,
  partitions: number,
): ReplayRequest["scope"] => {
  parseExactlyOne("replay", raw, ["fromSequence", "from", "query"]);
  if (raw.query !== undefined) return { kind: "query", query: parseQuery(raw.query, partitions) };
  const timeMs = parseDate("from", raw.from);
  if (timeMs !== null) return { kind: "time", timeMs };
  return { kind: "after", after: parseNumber("fromSequence", raw.fromSequence, { min: 0, max: Number.MAX_SAFE_INTEGER }) };
};

export const resetGroup = async (
  context: Context,
  stream: AnyStream,
  group: string,
  options: unknown,
): Promise<{ readonly reopened: number }> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("resetGroup", options, ["confirm", "start"]);
  requireConfirm(`Resetting group "${group}" of "${name}"`, raw.confirm);
  const reopened = await context.backend.reset(name, group, parseStart(raw.start, await context.partitionsOf(name)));
  context.emit("group.reset", { stream: name, group, reopened });
  return { reopened };
};

export const redrive = async (
  context: Context,
  stream: AnyStream,
  group: string,
  selection: unknown,
): Promise<{ readonly reopened: number }> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("redrive", selection, ["eventIds", "where", "all"]);
  const reopened = await context.backend.redrive({ stream: name, group, select: parseSelection(raw), purge: false });
  context.emit("dead_letter.redriven", { stream: name, group, reopened });
  return { reopened };
};

export const purge = async (
  context: Context,
  stream: AnyStream,
  group: string,
  selection: unknown,
): Promise<{ readonly purged: number }> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("purgeDeadLetters", selection, ["eventIds", "where", "all", "confirm"]);
  requireConfirm(`Purging dead letters of "${group}"`, raw.confirm);
  const purged = await context.backend.redrive({ stream: name, group, select: parseSelection(raw), purge: true });
  context.emit("dead_letter.purged", { stream: name, group, purged });
  return { purged };
};

/** Dead letters named one by one in a call: bounds the length of one write transaction. */
const MAX_EVENT_IDS = 10_000;

const parseSelection = (raw: Partial<Record<"eventIds" | "where" | "all", unknown>>): RedriveRequest["select"] => {
  parseExactlyOne("dead letters", raw, ["eventIds", "where", "all"]);
  if (raw.where !== undefined) return { kind: "where", where: parseFilter(raw.where) };
  if (raw.all === true) return { kind: "all" };
  if (raw.eventIds !== undefined) {
    const ids = parseList("eventIds", raw.eventIds, { min: 0, max: MAX_EVENT_IDS });
    return { kind: "ids", ids: ids.map((id) => parseText("eventIds", id) ?? "") };
  }
  throw new RheoError("invalid_option", "Select dead letters by { eventIds: [...] }, { where } or { all: true }.");
};
