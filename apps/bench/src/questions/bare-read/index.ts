/** The limit of the same store: read the log and move a cursor, with nothing of what Rheo promises. */
import { type Question, rate, type Sample, secondsOf } from "../../question.ts";
import type { Place } from "../../systems.ts";
import { backlog } from "../drain.ts";
import { readAllOfEnvironment } from "./lmdb.ts";
import { readAllOfCollection } from "./mongo.ts";
import { readAllOfSchema } from "./postgres.ts";
import { readAllOfKeys } from "./redis.ts";
import { readAllOfFile } from "./sqlite.ts";

const OF_SERVER = { postgres: readAllOfSchema, redis: readAllOfKeys, mongo: readAllOfCollection } as const;

const readAll = async (place: Place, limit: number, events: number): Promise<number> => {
  switch (place.kind) {
    case "memory":
      throw new RangeError("there is nothing below the memory store to read");
    case "file":
      return secondsOf(async () => void readAllOfFile(place.file, place.synchronous, limit));
    case "owner": // its own blocks are its own: the same payloads, one by one
      return readAllOfEnvironment(place.path, place.durability, events, limit) / 1_000;
    case "server":
      return secondsOf(async () => void (await OF_SERVER[place.store](place.url, place.name, limit)));
    default:
      return place satisfies never;
  }
};

export const bareRead: Question = {
  name: "bare-read",
  title: "a bare log read with parse and cursor commit on the same tables",
  fits: (system) => system.kind !== "memory",
  ask: async (system, { events }) => {
    const samples: Sample[] = [];
    for (const limit of [100, 1_000]) {
      const opened = await system.open();
      await backlog(opened, events);
      const seconds = await readAll(opened.place, limit, events);
      samples.push(rate(`bare read+cursor ${limit} per batch`, system, events, seconds));
      await opened.close();
    }
    return samples;
  },
};
