/** `$changeStream`: what was committed to a collection, a database or all, in order, from a place on that can be resumed. */
import { Timestamp } from "bson";
import { CommandError, refuse } from "../errors.ts";
import { runStages } from "../pipeline/run.ts";
import type { OplogEntry } from "../storage/oplog.ts";
import { fromTimestamp } from "../storage/time.ts";
import type { Doc } from "../values/document.ts";
import { docOf, onlyFields, textOf } from "../values/expect.ts";
import { type EventOptions, eventOf } from "./change-event.ts";
import { type Cursor, open } from "./cursors.ts";
import type { Request } from "./request.ts";

/** How long an answer waits for news when the client names no time: as the server. */
const WAIT_MS = 1_000;
const ALLOWED = ["$match", "$project", "$addFields", "$set", "$unset", "$replaceRoot", "$replaceWith", "$redact"];

interface Place {
  readonly at: number;
  readonly place: number;
}

export const openChangeStream = (
  request: Request,
  collection: string | null,
  stages: readonly Doc[],
  batchSize: unknown,
): Promise<Doc> => {
  const [first = {}, ...rest] = stages;
  if (request.transaction !== null) throw new CommandError(263, "$changeStream cannot be used in a transaction");
  const options = docOf(first.$changeStream, "$changeStream");
  onlyFields(options, "$changeStream", [
    "fullDocument",
    "resumeAfter",
    "startAfter",
    "startAtOperationTime",
    "allChangesForCluster",
    "showExpandedEvents",
  ]);
  const stray = rest.map((stage) => Object.keys(stage)[0] ?? "").find((name) => !ALLOWED.includes(name));
  if (stray !== undefined) throw new CommandError(20, `${stray} is not permitted in a $changeStream pipeline`);
  return open(request, streamCursor(request, collection, options, rest), batchSize);
};

const streamCursor = (request: Request, collection: string | null, options: Doc, stages: readonly Doc[]): Cursor => {
  const { store } = request.server;
  const { database } = request;
  const { oplog } = store;
  const eventOptions: EventOptions = { lookUp: looksUp(options.fullDocument), store };
  let place = startOf(request, options);
  let over = false;
  const concerns = (entry: OplogEntry): boolean =>
    database === "admin" || (entry.database === database && (collection === null || entry.collection === collection));
  if (oplog.after(place.at, place.place) === null) throw lost();
  const take = (size: number): Doc[] => {
    const docs: Doc[] = [];
    const entries = oplog.after(place.at, place.place);
    if (entries === null) throw lost();
    for (const entry of entries) {
      if (docs.length >= size || over) break;
      place = { at: entry.at, place: entry.place };
      if (!concerns(entry)) continue;
      docs.push(...runStages(stages, [eventOf(entry, tokenOf(place), eventOptions)], { scope: request.scope }));
      if (entry.kind === (collection === null ? "dropDatabase" : "drop") && database !== "admin") {
        over = true;
        docs.push({
          _id: tokenOf({ at: entry.at, place: entry.place + 1 }),
          operationType: "invalidate",
          clusterTime: docs.at(-1)?.clusterTime,
        });
      }
    }
    return docs;
  };
  return {
    namespace: `${database}.${collection ?? "$cmd.aggregate"}`,
    next: async (size, waitMs) => {
      const untilMs = performance.now() + (waitMs || WAIT_MS);
      let docs = take(size);
      // the first answer, of no waiting, is that of aggregate
      while (docs.length === 0 && waitMs !== 0 && !over && performance.now() < untilMs) {
        await news(request, untilMs);
        docs = take(size);
      }
      return {
        docs,
        over,
        fields: { postBatchResumeToken: tokenOf(docs.length > 0 ? place : { at: Math.max(place.at, store.now), place: LAST }) },
      };
    },
  };
};

/** After all that was committed together. */
const LAST = 2 ** 31 - 1;

const news = (request: Request, untilMs: number): Promise<void> =>
  new Promise((resolve) => {
    const { changed } = request.server.store.oplog;
    const done = (): void => {
      clearTimeout(timer);
      changed.off("change", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(1, untilMs - performance.now()));
    changed.once("change", done);
  });

const lost = (): CommandError =>
  new CommandError(286, "Resume of change stream was not possible, as the resume point may no longer be in the oplog.");

const looksUp = (fullDocument: unknown): boolean => {
  if (fullDocument === "updateLookup") return true;
  if (fullDocument === undefined || fullDocument === "default") return false;
  throw refuse(`this fullDocument of $changeStream (only "default" and "updateLookup")`);
};

const startOf = (request: Request, options: Doc): Place => {
  const token = options.resumeAfter ?? options.startAfter;
  if (token !== undefined) return placeOf(textOf(docOf(token, "resumeAfter")._data, "_data"));
  if (options.startAtOperationTime instanceof Timestamp)
    return { at: fromTimestamp(options.startAtOperationTime) - 1, place: LAST };
  return { at: request.server.store.now, place: LAST };
};

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, "0");

const tokenOf = ({ at, place }: Place): Doc => ({ _data: hex(at, 14) + hex(place, 8) });

const placeOf = (token: string): Place => {
  if (!/^[0-9A-F]{22}$/.test(token)) throw new CommandError(9, "Bad resume token: it is not of this server");
  return { at: Number.parseInt(token.slice(0, 14), 16), place: Number.parseInt(token.slice(14), 16) };
};
