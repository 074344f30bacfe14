/** Removing what no stream or group leads to any more: after the transaction that made it so, because it may be much. */
import type { Collections } from "./database.ts";
import { recordsRange } from "./ids.ts";
import type { Unit } from "./store.ts";

export interface Garbage {
  /** Null: only groups. */
  readonly stream: number | null;
  readonly groups: readonly number[];
}

const idOf = ({ stream, groups }: Garbage): string => `garbage/${stream ?? ""}/${groups[0] ?? ""}`;

/** Notes in the transaction what is to be removed after it: if this process dies before, the next who opens the store does it. */
export const noteGarbage = async ({ collections, within }: Unit, garbage: Garbage): Promise<void> => {
  await collections.meta.insertOne({ _id: idOf(garbage), ...garbage }, within);
};

export const removeGarbage = async (collections: Collections, garbage: Garbage): Promise<void> => {
  for (const group of garbage.groups) await collections.progress.deleteMany({ _id: recordsRange(group) });
  if (garbage.stream !== null) await collections.events.deleteMany({ stream: garbage.stream });
  await collections.meta.deleteOne({ _id: idOf(garbage) });
};

/** What others left. Several may do it at once. */
export const removeLeftGarbage = async (collections: Collections): Promise<void> => {
  const left = await collections.meta.find({ _id: { $gte: "garbage/", $lt: "garbage0" } }).toArray();
  for (const found of left) if ("groups" in found) await removeGarbage(collections, found);
};
