/** The limit of the same store: read the log and move a cursor, with nothing of what Rheo promises. */
import { type Question, rate, type Sample, secondsOf } from "../../question.ts";
import type { Place } from "../../systems.ts";
import { backlog } from "../drain.ts";
import { readAllOfSchema } from "./postgres.ts";
import { readAllOfKeys } from "./redis.ts";
import { readAllOfFile } from "./sqlite.ts";

const readAll = async (place: Place, limit: number): Promise<unknown> => {
  switch (place.kind) {
    case "memory":
      throw new RangeError("there is nothing below the memory store to read");
    case "file":
      return readAllOfFile(place.file, place.synchronous, limit);
    case "server":
      return (place.store === "postgres" ? readAllOfSchema : readAllOfKeys)(place.url, place.name, limit);
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
      const seconds = await secondsOf(async () => void (await readAll(opened.place, limit)));
      samples.push(rate(`bare read+cursor ${limit} per batch`, system, events, seconds));
      await opened.close();
    }
    return samples;
  },
};
