/** The limit of the same store: read the log and move a cursor, with nothing of what Rheo promises. */
import { backlog, countOf } from "../../backlog.ts";
import { lasting, type Question, rate, secondsOf } from "../../question.ts";
import { SMALL_BYTES, sampleEvents } from "../../sample.ts";
import type { Place, System } from "../../systems.ts";
import { readAllOfEnvironment } from "./read-lmdb.ts";
import { readAllOfCollection } from "./read-mongo.ts";
import { readAllOfSchema } from "./read-postgres.ts";
import { readAllOfKeys } from "./read-redis.ts";
import { readAllOfFile } from "./read-sqlite.ts";

const OF_SERVER = { postgres: readAllOfSchema, redis: readAllOfKeys, mongo: readAllOfCollection } as const;

interface Manner {
  /** Events of a read. */
  readonly limit: number;
  readonly bytes: number;
}

/** Seconds. */
const readAll = async (place: Place, { limit, bytes }: Manner, events: number): Promise<number> => {
  switch (place.kind) {
    case "memory":
      throw new RangeError("there is nothing below the memory store to read");
    case "file":
      return secondsOf(async () => void readAllOfFile(place.file, place.synchronous, limit));
    case "owner": // its own blocks are its own: the same payloads, one by one
      return readAllOfEnvironment(place.path, place.durability, sampleEvents(0, events, bytes), limit) / 1_000;
    case "server":
      return secondsOf(async () => void (await OF_SERVER[place.store](place.url, place.name, limit)));
    default:
      return place satisfies never;
  }
};

/** Events per second. */
const drain = async (system: System, manner: Manner, events: number): Promise<number> => {
  const opened = await system.open();
  await backlog(opened, { events, bytes: manner.bytes });
  const seconds = await readAll(opened.place, manner, events);
  await opened.close();
  return events / seconds;
};

const question = (manner: Manner, isRare: boolean): Question => {
  const { limit, bytes } = manner;
  return {
    name: "bare-read",
    title: `a bare log read with parse and cursor commit, events of ${bytes} B, ${limit} per batch`,
    isRare,
    fits: ({ kind }) => kind !== "memory",
    ask: async (system, scale) => {
      const events = countOf(scale.events, bytes);
      const perSecond = await lasting(events, (some) => drain(system, manner, some));
      return [rate("bare read+cursor", system, perSecond, 1, { bytes, "per batch": limit })];
    },
  };
};

export const bareReads: readonly Question[] = [
  ...[100, 1_000].map((limit) => question({ limit, bytes: SMALL_BYTES }, false)),
  question({ limit: 1_000, bytes: 4_096 }, true),
  question({ limit: 100, bytes: 65_536 }, true),
];
