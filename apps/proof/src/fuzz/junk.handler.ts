/** A handler that posts junk wherever it can, then acks. Loaded in worker threads. */

import { setTimeout as sleep } from "node:timers/promises";
import { BroadcastChannel, parentPort, threadId, workerData } from "node:worker_threads";
import { type HandlerContext, handler } from "@rheo/runtime/handler";
import { seeded } from "@rheo/testing/internal";

/** What it has posted is heard within, in ms. */
const HEARD_MS = 5;

const KINDS = ["extend", "hungry", "memory", "abort", "slice", "session", "ready", "stop", 7, null] as const;
const VALUES = [null, -1, 0, 1, 0.5, Number.NaN, 2 ** 53, "", "x", [], {}, true, new Map(), new Uint8Array(3)] as const;
const FIELDS = [
  "slice",
  "index",
  "ms",
  "session",
  "threadId",
  "heapUsed",
  "heapLimit",
  "external",
  "indexes",
  "name",
  "message",
  "memory",
] as const;

export default handler(async ({ payload }, context: HandlerContext) => {
  const random = seeded(Number(Reflect.get(Object(payload), "seed")));
  for (let count = 0; count < 5; count++) {
    const message: Record<string, unknown> = { [random.pick(["rheo", "kind"])]: random.pick(KINDS) };
    for (const field of FIELDS) if (random.chance(0.5)) message[field] = random.pick(VALUES);
    post(random.chance(0.1) ? random.pick(VALUES) : message, random.chance(0.5));
  }
  try {
    context.extend(random.pick([-1, Number.NaN, 1e308, 0]));
  } catch {
    // told to the handler, whose mistake it is
  }
  await sleep(HEARD_MS);
});

/** To the main side, or on the channel by which that talks to this thread. */
const post = (message: unknown, toMain: boolean): void => (toMain ? parentPort : channel)?.postMessage(message);

/** By its name, as anybody in this thread may; left open, as what is posted to one that is closed at once goes nowhere. */
const channel = new BroadcastChannel(`${String(Reflect.get(Object(workerData), "channel"))}-${threadId}`);
channel.unref();
