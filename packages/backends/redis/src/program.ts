/** The scripts: each is put together from the modules that it needs, so that none defines what it does not use. */
import { createHash } from "node:crypto";
import type { Script } from "./connection.ts";
import { APPEND, BATCH } from "./lua/append.lua.ts";
import * as catalog from "./lua/catalog.lua.ts";
import { CLAIM, CLEAR_ALONE_AT, LOOK_AT, MARK_ALONE_AT, SURVEY, SURVEY_AT } from "./lua/claim.lua.ts";
import { COMMON, LOG, LOG_TEXT } from "./lua/common.lua.ts";
import { EVENTS, LINES, SEQUENCE_AT } from "./lua/events.lua.ts";
import { exchangeScript } from "./lua/exchange.lua.ts";
import { FILTER } from "./lua/filter.lua.ts";
import * as groups from "./lua/groups.lua.ts";
import { HEADER } from "./lua/header.lua.ts";
import * as indexes from "./lua/indexes.lua.ts";
import { INDEXES, SERVING } from "./lua/indexes.lua.ts";
import * as inspect from "./lua/inspect.lua.ts";
import { ORDER } from "./lua/order.lua.ts";
import { LAST_CHANCE, PASS } from "./lua/pass.lua.ts";
import { RANGES } from "./lua/ranges.lua.ts";
import * as log from "./lua/read.lua.ts";
import { EXCEPTIONS, LEASES, LETTERS, MEMBERS, PLACES } from "./lua/records.lua.ts";
import { RENEW } from "./lua/renew.lua.ts";
import * as reopen from "./lua/reopen.lua.ts";
import * as reserve from "./lua/reserve.lua.ts";
import { RENEW_ONE, SETTLE } from "./lua/settle.lua.ts";
import { TAKE_DUE } from "./lua/take-due.lua.ts";
import { TAKE_EXPIRED } from "./lua/take-expired.lua.ts";
import { TAKE_NEW } from "./lua/take-new.lua.ts";
import * as trim from "./lua/trim.lua.ts";
import { VALUES } from "./lua/values.lua.ts";

const script = (name: string, writes: boolean, ...parts: readonly string[]): Script => {
  const text = parts.join("\n");
  return { name, text, sha: createHash("sha1").update(text).digest("hex"), writes };
};
const reading = (name: string, ...parts: readonly string[]): Script => script(name, false, ...parts);
const writing = (name: string, ...parts: readonly string[]): Script => script(name, true, ...parts);

const STREAM = [COMMON, LOG, HEADER];
const INDEXED = [VALUES, INDEXES];
const PROGRESS = [...STREAM, PLACES, RANGES, EVENTS, LEASES, EXCEPTIONS, LETTERS];
const PLACED = [...STREAM, PLACES, groups.TOKEN, groups.GROUP_RECORD];

/** What is done to streams as a whole. */
export const STREAMS: Readonly<
  Record<"create" | "list" | "remove" | "raiseFloor" | "forget" | "init" | "entomb" | "clear" | "clearIds", Script>
> = {
  create: writing("create_stream", catalog.CREATE_STREAM),
  list: reading("list_streams", catalog.LIST_STREAMS),
  remove: writing("remove_stream", catalog.REMOVE_STREAM),
  raiseFloor: writing("raise_floor", catalog.RAISE_FLOOR),
  forget: writing("forget_stream", catalog.FORGET_STREAM),
  init: writing("init_partition", ...PLACED, ...INDEXED, catalog.OLDER, catalog.INIT_PARTITION),
  entomb: writing("entomb_partition", catalog.ENTOMB_PARTITION),
  clear: writing("clear_partition", ...PLACED, ...INDEXED, catalog.OLDER, catalog.CLEAR_PARTITION),
  clearIds: writing("clear_ids", catalog.CLEAR_IDS),
};

export const SET_LAYOUT: Script = writing("set_layout", catalog.SET_LAYOUT_VERSION);

/** The log. */
export const LOGS: Readonly<
  Record<
    | "append"
    | "read"
    | "search"
    | "readAt"
    | "watermarks"
    | "trim"
    | "sweep"
    | "dropIds"
    | "beginIndex"
    | "fillIndex"
    | "dropIndex"
    | "listIndexes",
    Script
  >
> = {
  append: writing("append", LOG_TEXT, HEADER, ...INDEXED, BATCH, APPEND),
  read: reading("read", ...STREAM, EVENTS, LINES, log.READ),
  search: reading("search", ...STREAM, EVENTS, SEQUENCE_AT, LINES, ...INDEXED, SERVING, FILTER, log.SEARCH),
  readAt: reading("read_at", ...STREAM, EVENTS, LINES, log.READ_AT),
  watermarks: reading("watermarks", ...STREAM, log.WATERMARKS),
  trim: writing("trim", ...PROGRESS, SEQUENCE_AT, inspect.FRONTIER, LOG_TEXT, trim.TRIM),
  sweep: writing("sweep", ...STREAM, EVENTS, ...INDEXED, trim.SWEEP),
  dropIds: writing("drop_ids", trim.DROP_IDS),
  beginIndex: writing("begin_index", ...STREAM, ...INDEXED, indexes.BEGIN_INDEX),
  fillIndex: writing("fill_index", ...STREAM, EVENTS, ...INDEXED, indexes.FILL_INDEX),
  dropIndex: writing("drop_index", ...STREAM, ...INDEXED, indexes.DROP_INDEX),
  listIndexes: reading("list_indexes", ...STREAM, ...INDEXED, indexes.LIST_INDEXES),
};

/** Appending on a Cluster. */
export const RESERVED: Readonly<Record<"putIds" | "appendAt" | "look" | "resolve" | "release", Script>> = {
  putIds: writing("put_ids", catalog.OLDER, reserve.PUT_IDS),
  appendAt: writing("append_at", LOG_TEXT, HEADER, ...INDEXED, BATCH, reserve.APPEND_AT),
  look: reading("resolve", HEADER, reserve.RESOLVE),
  resolve: writing("resolve", HEADER, reserve.RESOLVE),
  release: writing("release", reserve.RELEASE),
};

/** Groups. */
export const GROUPS: Readonly<Record<"create" | "read" | "list" | "living" | "update" | "remove", Script>> = {
  create: writing("create_group", ...PLACED, EVENTS, SEQUENCE_AT, groups.START, groups.CREATE_GROUP),
  read: reading("read_group", ...PLACED, groups.READ_GROUP),
  list: reading("list_groups", ...PLACED, groups.LIST_GROUPS),
  living: reading("living_groups", ...STREAM, groups.LIVING_GROUPS),
  update: writing("update_group", ...PLACED, groups.UPDATE_GROUP),
  remove: writing("delete_group", ...PLACED, groups.DELETE_GROUP),
};

/** Deliveries. */
export const DELIVERIES: Readonly<
  Record<
    | "exchange"
    | "survey"
    | "clearAlone"
    | "markAlone"
    | "renew"
    | "reset"
    | "rewind"
    | "countOffered"
    | "replayPage"
    | "redrivePage",
    Script
  >
> = {
  exchange: writing(
    "exchange",
    exchangeScript(
      [...STREAM, PLACES, LINES, MEMBERS],
      [
        RANGES,
        EVENTS,
        LEASES,
        EXCEPTIONS,
        LETTERS,
        SETTLE,
        VALUES,
        FILTER,
        PASS,
        LAST_CHANCE,
        ORDER,
        TAKE_EXPIRED,
        TAKE_DUE,
        TAKE_NEW,
        SURVEY,
        SURVEY_AT,
        CLAIM,
      ],
    ),
  ),
  survey: reading("survey", ...PROGRESS, PASS, LAST_CHANCE, SURVEY, SURVEY_AT, LOOK_AT),
  clearAlone: writing("clear_alone", ...PROGRESS, PASS, LAST_CHANCE, CLEAR_ALONE_AT),
  markAlone: writing("mark_alone", ...PROGRESS, MARK_ALONE_AT),
  renew: writing("renew", ...PROGRESS, MEMBERS, SETTLE, RENEW_ONE, PASS, LAST_CHANCE, RENEW),
  reset: writing("reset", ...PROGRESS, SEQUENCE_AT, groups.START, reopen.RESET),
  rewind: writing("rewind", ...PROGRESS, SEQUENCE_AT, reopen.REOPEN, reopen.REWIND),
  countOffered: reading("count_offered", ...PROGRESS, VALUES, FILTER, reopen.COUNT_OFFERED),
  replayPage: writing("replay_page", ...PROGRESS, VALUES, FILTER, reopen.REOPEN, reopen.REPLAY_PAGE),
  redrivePage: writing("redrive_page", ...PROGRESS, VALUES, FILTER, reopen.REOPEN, reopen.REDRIVE_PAGE),
};

/** Looking. */
export const LOOKS: Readonly<
  Record<"progress" | "stats" | "holders" | "leases" | "countLetters" | "letters" | "findLetter" | "delivery", Script>
> = {
  progress: reading("progress", ...PROGRESS, inspect.FRONTIER, inspect.PROGRESS),
  stats: reading("stats", ...PROGRESS, inspect.FRONTIER, inspect.STATS),
  holders: reading("holders", ...PROGRESS, inspect.FRONTIER, inspect.STATE, inspect.HOLDERS),
  leases: reading("leases", ...PROGRESS, inspect.LEASE_RECORDS),
  countLetters: reading("count_letters", ...PROGRESS, inspect.COUNT_LETTERS),
  letters: reading("letters", ...PROGRESS, LINES, VALUES, FILTER, inspect.LETTERS_OF),
  findLetter: reading("find_letter", ...PROGRESS, inspect.FIND_LETTER),
  delivery: reading("delivery", ...PROGRESS, inspect.STATE, inspect.DELIVERY),
};
