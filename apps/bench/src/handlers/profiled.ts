/** The handler of the drains, with a profile of its thread from the first to the last event: in the folder that the environment names. */

import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { handler } from "@rheo/runtime/handler";

/** Names the folder. */
export const FOLDER = "RHEO_BENCH_PROFILES";
const INTERVAL_US = 200;

let sum = 0;

export default handler(
  async (event) => {
    sum += (event.payload as { readonly version: number }).version; // as the bench appends it
  },
  {
    setup: async () => {
      const session = new Session();
      session.connect();
      await session.post("Profiler.enable");
      await session.post("Profiler.setSamplingInterval", { interval: INTERVAL_US });
      await session.post("Profiler.start");
      return session;
    },
    teardown: async (session) => {
      const { profile } = await (session as Session).post("Profiler.stop"); // as `setup` made it
      await writeFile(join(process.env[FOLDER] ?? ".", `${threadId}.cpuprofile`), JSON.stringify(profile));
      return sum;
    },
  },
);
