import { batchHandler } from "@rheo/runtime/handler";

/** The same as `add`, for batches. */
let sum = 0;

export default batchHandler(async (events) => {
  for (const { payload } of events) sum += (payload as { readonly version: number }).version; // as the bench appends it
});

export const total = (): number => sum;
