/**
 * What runs in a worker thread. It loads nothing of a user's before a task names it, so that a thread always comes up; from then on
 * the handlers may do anything, and at worst end this thread.
 */
import { getHeapStatistics } from "node:v8";
import { BroadcastChannel, parentPort, threadId, workerData } from "node:worker_threads";
import { RheoError } from "@rheo/core";
import { failureText, systemClock } from "@rheo/core/internal";
import { checkUse, type LoadedHandler, loadHandler } from "../load-handler.ts";
import {
  channelOf,
  type FromThread,
  isToThread,
  SessionGate,
  type SessionTask,
  SliceMemory,
  type ThreadAnswer,
  type ThreadTask,
} from "./protocol.ts";
import { ThreadSession } from "./thread-session.ts";

interface Ready {
  readonly handler: LoadedHandler;
  readonly value: unknown;
}

/** By module: loaded, and set up, once. */
const loaded = new Map<string, Promise<LoadedHandler>>();
const ready = new Map<string, Promise<Ready>>();

let current: ThreadSession | null = null;

const tell = (message: FromThread): void => parentPort?.postMessage(message);

/** How often a thread that works says how much memory it has. */
const TELL_MEMORY_MS = 1_000;
let hasWorked = false;

const tellMemory = (): void => {
  if (!hasWorked) return;
  hasWorked = false;
  const { used_heap_size: heapUsed, heap_size_limit: heapLimit, external_memory: external } = getHeapStatistics();
  tell({ rheo: "memory", threadId, heapUsed, heapLimit, external });
};
setInterval(tellMemory, TELL_MEMORY_MS).unref();

const listen = (pool: string): void => {
  const channel = new BroadcastChannel(channelOf(pool, threadId));
  channel.onmessage = (event) => {
    const message: unknown = (event as { data: unknown }).data;
    if (!isToThread(message)) return; // a handler has found the channel
    if (message.kind === "abort") current?.abort(message);
    else if (current?.id === message.session) current.add(message.slice);
  };
};

if (typeof workerData === "object" && workerData !== null && typeof Reflect.get(workerData, "channel") === "string")
  listen(Reflect.get(workerData, "channel"));

const run = async (task: ThreadTask): Promise<ThreadAnswer> => {
  try {
    switch (task.kind) {
      case "probe":
        checkUse(await load(task.module), task);
        return { ok: true };
      case "teardown":
        await teardown();
        await Promise.all([written(process.stdout), written(process.stderr)]);
        return { ok: true };
      case "session":
        await runSession(task);
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

/** A thread that is ended loses what the main thread has not yet taken of its output: all but the first line, if it was quick. */
const written = (output: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (output.writable) output.write("", () => resolve());
    else resolve();
  });

const runSession = async (task: SessionTask): Promise<void> => {
  const gate = new SessionGate(new SliceMemory(task.first.memory));
  gate.threadId = threadId;
  const { handler, value } = await setUp(task.module);
  const session = new ThreadSession(task, gate, { handler, value, clock: systemClock, tell });
  current = session;
  hasWorked = true;
  try {
    await session.run();
  } finally {
    current = null;
  }
};
