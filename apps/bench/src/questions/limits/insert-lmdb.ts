import { open } from "lmdb";

/** Puts a batch per transaction. In ms. */
export const insertIntoEnvironment = (
  path: string,
  durability: "sync" | "relaxed",
  batches: readonly (readonly string[])[],
): number => {
  const store = open<string, number>({
    path: `${path}-bare`,
    encoding: "string",
    noSync: durability === "relaxed",
    cache: false,
  });
  let key = 0;
  const startedMs = performance.now();
  for (const batch of batches)
    store.transactionSync(() => {
      for (const payload of batch) store.putSync(++key, payload);
    });
  const tookMs = performance.now() - startedMs;
  void store.close();
  return tookMs;
};
