/** What is kept once for the whole store: ids given out, and the greatest token of groups that are gone. */
import type { Collections, Within } from "./database.ts";

/** The next id of a stream or group; none is given twice. Not part of any transaction: an id that is not used is no loss. */
export const nextId = async ({ meta }: Collections): Promise<number> => {
  const found = await meta.findOneAndUpdate({ _id: "ids" }, { $inc: { last: 1 } }, { upsert: true, returnDocument: "after" });
  if (found === null || !("last" in found)) throw new TypeError("the counter of ids is not as Rheo made it");
  return found.last;
};

export const tokenFloor = async ({ meta }: Collections, within: Within): Promise<number> => {
  const found = await meta.findOne({ _id: "tokens" }, within);
  return found !== null && "floor" in found ? found.floor : 0;
};

/** Tokens of any later group are greater (F1). */
export const raiseTokenFloor = async ({ meta }: Collections, within: Within, token: number): Promise<void> => {
  await meta.updateOne({ _id: "tokens" }, { $max: { floor: token } }, { upsert: true, ...within });
};
