import { openBareEnvironment } from "./bare-environment.ts";

/** Puts a batch per transaction. In ms. */
export const insertIntoEnvironment = (
  path: string,
  durability: "sync" | "relaxed",
  batches: readonly (readonly string[])[],
): number => {
  const store = openBareEnvironment(path, durability);
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
