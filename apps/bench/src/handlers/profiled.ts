/** The handler of the drains, with a profile of its thread from the first to the last event. */
import { threadId } from "node:worker_threads";
import { handler } from "@rheo/runtime/handler";
import { startProfile } from "../flame/profiling.ts";

let sum = 0;

export default handler(
  async (event) => {
    sum += (event.payload as { readonly version: number }).version; // as the bench appends it
  },
  {
    setup: startProfile,
    teardown: async (stop) => {
      await stop(`${threadId}`);
      return sum;
    },
  },
);
