import { handler } from "@rheo/runtime/handler";

/** A handler that reads the payload and does next to nothing, as async functions do it. */
let sum = 0;

export default handler(async (event) => {
  sum += (event.payload as { readonly version: number }).version; // as the bench appends it
});

export const total = (): number => sum;
