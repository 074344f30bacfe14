/** The collections, and of each index why it is there. None is for what one application's events happen to hold. */
import type { CreateIndexesOptions } from "mongodb";
import type { Collections, Database } from "../database.ts";

interface Index {
  readonly collection: "events" | "progress";
  readonly key: { readonly [field: string]: 1 };
  readonly options: CreateIndexesOptions & { readonly name: string };
}

export const INDEXES: readonly Index[] = [
  // a partition in order: reading, and one more proof that no sequence is given twice (L1)
  { collection: "events", key: { stream: 1, partition: 1, sequence: 1 }, options: { name: "in_order", unique: true } },
  // what time allows, the longest due first
  {
    collection: "progress",
    key: { group: 1, partition: 1, dueAtMs: 1, sequence: 1 },
    options: { name: "due", partialFilterExpression: { kind: "exception" } },
  },
  // what is leased by itself: few records, however many exceptions there are
  {
    collection: "progress",
    key: { group: 1, state: 1 },
    options: { name: "leased", partialFilterExpression: { state: "leased" } },
  },
  // a dead letter by the id of its event: redrive
  {
    collection: "progress",
    key: { group: 1, eventId: 1 },
    options: { name: "dead_letter_of", partialFilterExpression: { kind: "deadLetter" } },
  },
];

/** Another process made it first. */
const EXISTS = 48;

export const initial = async ({ db, collections }: Database): Promise<void> => {
  // made beforehand, because to make one inside a transaction takes locks that appends then wait for
  for (const { collectionName } of placesOf(collections)) await db.createCollection(collectionName).catch(ignoreExisting);
  for (const { collection, key, options } of INDEXES) await collections[collection].createIndex({ ...key }, options);
};

const placesOf = (collections: Collections): { readonly collectionName: string }[] => Object.values(collections);

const ignoreExisting = (error: unknown): void => {
  if (!(error instanceof Error && "code" in error && error.code === EXISTS)) throw error;
};
