/** A member of the group: a process of its own that opens the store and supervises one consumer. */
import { BroadcastChannel } from "node:worker_threads";
import { Rheo } from "@rheo/core";
import { defineConsumer, type Supervisor, supervise } from "@rheo/runtime";
import { narrate } from "../narrate.ts";
import type { Mode, Tone } from "../views.ts";
import type { Assignment, ToMember, ToPlayground } from "./messages.ts";
import { type FromThread, THREAD_CHANNEL, type ToThreads } from "./thread-channel.ts";

const THREADS = 2;
/** Leases held at most: those that run, and as many that wait. */
const MAX_DEMAND = 2 * THREADS;
/** For handlers to end in, in ms; then they are aborted, and their events given back. */
const STOP_MS = 10_000;
const TREE_MS = 1_000;

const channel = new BroadcastChannel(THREAD_CHANNEL);
/** Those with a handler loaded. */
const threads = new Set<number>();
let mode: Mode = { kind: "normal" };
let member: { readonly rheo: Rheo; readonly app: Supervisor } | null = null;

const send = (message: ToPlayground): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined); // a parent that is gone is noticed by "disconnect"
};

const say = (tone: Tone, text: string): void => send({ type: "said", saying: { tone, text } });

const tellThreads = (message: ToThreads): void => channel.postMessage(message);

channel.onmessage = (message: unknown): void => {
  const { data } = message as { readonly data: FromThread }; // what threads post
  if (data.type !== "here") return;
  threads.add(data.threadId);
  tellThreads({ type: "mode", mode });
};

const begin = async ({ url, stream, group, name, mode: first }: Assignment): Promise<void> => {
  mode = first;
  const rheo = await Rheo.open(url, { name });
  narrate(rheo, (saying) => send({ type: "said", saying }));
  rheo.events.on("thread.died", ({ threadId }) => threads.delete(threadId));
  const handler = new URL("./work.handler.js", import.meta.url);
  const consumer = defineConsumer({ stream, group, handler, concurrency: THREADS, maxDemand: MAX_DEMAND, consumerId: name });
  const app = await supervise({ rheo, consumers: [consumer], threads: THREADS });
  member = { rheo, app };
  void app.failure.then(fail);
  setInterval(() => tellTree(app), TREE_MS);
  tellTree(app);
  send({ type: "ready" });
};

const tellTree = (app: Supervisor): void => {
  const children = app.children().map((child) => ({
    ...child,
    lastError: child.lastError === null ? null : new Error(child.lastError.message), // without a cause, which might not be clonable
  }));
  send({ type: "tree", children });
};

const killThread = (): void => {
  const threadId = [...threads].at(-1);
  if (threadId === undefined) return say("warn", "has no thread that handled an event yet: publish some first");
  say("warn", `tells its thread ${threadId} to call process.exit(1)`);
  tellThreads({ type: "die", threadId });
};

const stop = async (): Promise<void> => {
  await member?.app.stop({ timeoutMs: STOP_MS });
  await member?.rheo.close();
  process.exit(0);
};

const fail = (error: unknown): void => {
  say("bad", `failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  setImmediate(() => process.disconnect()); // ends it, below, once the message is written
};

const obey = (message: ToMember): Promise<void> | void => {
  switch (message.type) {
    case "begin":
      return begin(message);
    case "mode":
      mode = message.mode;
      return tellThreads(message);
    case "kill_thread":
      return killThread();
    case "stop":
      return stop();
    default:
      return message satisfies never;
  }
};

process.on("message", (message) => {
  Promise.resolve(obey(message as ToMember)).catch(fail); // the playground sends nothing else
});
process.on("disconnect", () => process.exit()); // the playground is gone, however it went
// Ctrl-C and a closed terminal reach the whole group: the playground decides
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGTERM", () => void stop().catch(fail));
