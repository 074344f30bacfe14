/** The limit of the same store: the payloads put there in batches, with a key and nothing else of what Rheo keeps. */
import { type Question, rate } from "../../question.ts";
import { sampleBatches } from "../../sample.ts";
import type { Place } from "../../systems.ts";
import { insertIntoEnvironment } from "./insert-lmdb.ts";
import { insertIntoCollection } from "./insert-mongo.ts";
import { insertIntoSchema } from "./insert-postgres.ts";
import { insertIntoKeys } from "./insert-redis.ts";
import { insertIntoFile } from "./insert-sqlite.ts";

const INTO_SERVER = { postgres: insertIntoSchema, redis: insertIntoKeys, mongo: insertIntoCollection } as const;

/** In ms. */
const insertAll = async (place: Place, batches: readonly (readonly string[])[]): Promise<number> => {
  switch (place.kind) {
    case "memory":
      throw new RangeError("there is nothing below the memory store to write to");
    case "file":
      return insertIntoFile(place.file, place.synchronous, batches);
    case "owner":
      return insertIntoEnvironment(place.path, place.durability, batches);
    case "server":
      return INTO_SERVER[place.store](place.url, place.name, batches);
    default:
      return place satisfies never;
  }
};

/** Small batches are slow: a part of the backlog says enough. */
const SIZES: readonly (readonly [size: number, share: number])[] = [
  [1, 0.02],
  [100, 1],
  [1_000, 1],
];

export const bareInserts: readonly Question[] = SIZES.map(([size, share]) => ({
  name: "bare-insert",
  title: `a bare insert, ${size} per batch`,
  fits: ({ kind }) => kind !== "memory",
  ask: async (system, { events }) => {
    const count = Math.ceil((events * share) / size) * size;
    const batches = sampleBatches(count, size).map((batch) => batch.map(({ payload }) => JSON.stringify(payload)));
    const opened = await system.open();
    const tookMs = await insertAll(opened.place, batches);
    await opened.close();
    return [rate("bare insert", system, count, tookMs / 1_000, { "per batch": size })];
  },
}));
