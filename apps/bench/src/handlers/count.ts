import { handler } from "@rheo/runtime/handler";

/** A handler that returns at once, without a promise. */
let count = 0;

export default handler(() => {
  count += 1;
});

export const total = (): number => count;
