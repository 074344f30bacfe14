/**
 * What runs in a worker thread. It loads nothing of a user's before a task names it, so that a thread always comes up; from then on
 * the handlers may do anything, and at worst end this thread.
 */
import { BroadcastChannel, threadId, workerData } from "node:worker_threads";
import { RheoError } from "@rheo/core";
import { failureText } from "@rheo/core/internal";
import { type LoadedHandler, loadHandler } from "../load-handler.ts";
import { type ControlMessage, SliceMemory, type SliceTask, type ThreadAnswer, type ThreadTask } from "./protocol.ts";
import { ThreadSlice } from "./thread-slice.ts";

interface Ready {
  readonly handler: LoadedHandler;
  readonly value: unknown;
}

/** By module: loaded, and set up, once. */
const loaded = new Map<string, Promise<LoadedHandler>>();
const ready = new Map<string, Promise<Ready>>();

let current: ThreadSlice | null = null;

const listen = (channelName: string): void => {
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = (event) => {
    const message = (event as { data: ControlMessage }).data; // only our own main side posts there
    if (current?.id === message.slice) current.abort(message);
  };
};

if (typeof workerData === "object" && workerData !== null && typeof Reflect.get(workerData, "channel") === "string")
  listen(Reflect.get(workerData, "channel"));

const run = async (task: ThreadTask): Promise<ThreadAnswer> => {
  try {
    switch (task.kind) {
      case "probe":
        await load(task.module);
        return { ok: true };
      case "teardown":
        await teardown();
        return { ok: true };
      case "slice":
        await runSlice(task);
        return { ok: true };
      default:
        return task satisfies never;
    }
  } catch (cause) {
    return { ok: false, reason: RheoError.is(cause) ? cause.message : failureText(cause, "nothing readable was thrown").reason };
  }
};

export default run;

const load = (module: string): Promise<LoadedHandler> => remembered(loaded, module, () => loadHandler(module));

const setUp = (module: string): Promise<Ready> =>
  remembered(ready, module, async () => {
    const handler = await load(module);
    return { handler, value: await handler.setup?.() };
  });

/** A failure is not remembered, so the next task tries again. */
const remembered = <Value>(known: Map<string, Promise<Value>>, name: string, make: () => Promise<Value>): Promise<Value> => {
  const made = known.get(name) ?? make();
  known.set(name, made);
  made.catch(() => known.delete(name));
  return made;
};

const teardown = async (): Promise<void> => {
  const done = [...ready.values()].map(async (one) => {
    const { handler, value } = await one;
    await handler.teardown?.(value);
  });
  ready.clear();
  for (const result of await Promise.allSettled(done))
    if (result.status === "rejected") console.error("teardown failed:", result.reason);
};

const runSlice = async (task: SliceTask): Promise<void> => {
  const memory = new SliceMemory(task.memory);
  memory.threadId = threadId;
  const { handler, value } = await setUp(task.module);
  const slice = new ThreadSlice(task, memory, handler, value);
  current = slice;
  try {
    await slice.run();
  } finally {
    current = null;
  }
};
