import type { EventInput } from "@rheo/core";
import { openBareEnvironment } from "./bare-environment.ts";

/** Writes the payloads one by one, then reads `limit` at a time as JSON values and commits a cursor for each batch. In ms, of the reading. */
export const readAllOfEnvironment = (
  path: string,
  durability: "sync" | "relaxed",
  events: readonly EventInput[],
  limit: number,
): number => {
  const store = openBareEnvironment(path, durability);
  const payloads = events.map(({ payload }) => JSON.stringify(payload));
  store.transactionSync(() => {
    for (const [index, payload] of payloads.entries()) store.putSync(index + 1, payload);
  });
  const startedMs = performance.now();
  let position = 0;
  let sum = 0;
  for (let found = limit; found > 0; ) {
    found = 0;
    store.transactionSync(() => {
      for (const { key, value } of store.getRange({ start: position + 1, end: events.length + 1, limit })) {
        sum += (JSON.parse(value) as { version: number }).version;
        position = key;
        found += 1;
      }
      store.putSync(0, String(position));
    });
  }
  const tookMs = performance.now() - startedMs;
  if (!(sum >= 0)) throw new TypeError("a payload has no version");
  void store.close();
  return tookMs;
};
