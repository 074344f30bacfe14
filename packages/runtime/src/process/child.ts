/**
 * What runs in a child process: the config's consumers, as the parent says. It gives signs of life from its event loop, ends when
 * it is told to, and ends by itself when the parent is gone.
 */
import { Worker } from "node:worker_threads";
import { failureText } from "@rheo/core/internal";
import { App, isUsageError } from "./app.ts";
import { EXIT } from "./exit-code.ts";
import { loadConfig } from "./load-config.ts";
import { narrate } from "./narrator.ts";
import type { Assignment, ToChild, ToParent } from "./protocol.ts";
import { GRACE_MS, STOP_TIMEOUT_MS } from "./state.ts";
import type { WatchdogOrder } from "./watchdog.ts";

/** What keeps the process alive after its end, such as a socket of a handler's, is not waited for longer. */
const LINGER_MS = 500;

let app: App | null = null;
let stopTimeoutMs = STOP_TIMEOUT_MS;
let beating: NodeJS.Timeout | null = null;
let isLeaving = false;
/** The exit code that a failure decided; a drain that follows does not change it. */
let failedWith: number | null = null;
let drainAskedMs: number | null = null;
let isReachable = true;

const send = (message: ToParent): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined); // a parent that is gone is noticed by "disconnect"
};

/** One at a time: a parent that does not read is not buried in them. */
const beat = (): void => {
  if (!process.connected || !isReachable) return;
  isReachable = false;
  const children = (app?.children() ?? []).map((child) => ({
    ...child,
    lastError: child.lastError === null ? null : new Error(child.lastError.message), // without a cause, which might not be clonable
  }));
  const message: ToParent = { type: "beat", rssBytes: process.memoryUsage.rss(), children };
  process.send?.(message, undefined, undefined, () => {
    isReachable = true;
  });
};

const begin = async (assignment: Assignment): Promise<void> => {
  const watch = startWatchdog(assignment);
  beating = setInterval(beat, assignment.beatMs);
  beat();
  process.env.RHEO_PROCESS = String(assignment.number);
  process.env.RHEO_PROCESSES = String(assignment.processes);
  const config = await loadConfig(assignment.config);
  const configured = config.stopTimeoutMs ?? null;
  stopTimeoutMs = assignment.stopTimeoutMs ?? configured ?? STOP_TIMEOUT_MS;
  watch(stopTimeoutMs + GRACE_MS);
  send({ type: "configured", stopTimeoutMs: configured });
  app = new App({
    config,
    store: assignment.store,
    fallbackStore: assignment.fallbackStore,
    isShared: assignment.processes > 1,
    host: {
      opened: (rheo) => narrate(rheo.events, { info: (text) => console.log(text), warn: (text) => console.error(text) }),
      waiting: (error, nextInMs) => send({ type: "waiting", reason: `${error.message} (next try in ${nextInMs} ms)` }),
      ready: () => send({ type: "ready" }),
    },
  });
  void app.failure.then((error) => fail(error));
  if (drainAskedMs !== null) return;
  await app.start();
};

const startWatchdog = ({ parentPid }: Assignment): ((limitMs: number) => void) => {
  const order = (limitMs: number): WatchdogOrder => ({ parentPid, limitMs });
  const worker = new Worker(new URL("./watchdog.js", import.meta.url), {
    workerData: order(stopTimeoutMs + GRACE_MS),
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  worker.on("error", (error) => console.error(`The watchdog has ended: ${error.message}`));
  return (limitMs) => worker.postMessage(order(limitMs));
};

/** Tells why, lets what still runs finish, and ends. */
const fail = (cause: unknown): void => {
  if (failedWith !== null) return;
  const isUsage = isUsageError(cause);
  failedWith = isUsage ? EXIT.usage : EXIT.failed;
  const { reason, stack } = failureText(cause, "It failed, and threw nothing readable.");
  if (isUsage) send({ type: "refused", reason: cause.message });
  else {
    send({ type: "failed", reason });
    console.error(stack ?? reason);
  }
  void end(stopTimeoutMs);
};

const end = async (timeoutMs: number): Promise<void> => {
  drainAskedMs = timeoutMs;
  const isComplete = app === null || (await app.end(timeoutMs));
  leave(failedWith ?? (isComplete ? EXIT.drained : EXIT.incomplete));
};

const leave = (code: number): void => {
  if (isLeaving) return;
  isLeaving = true;
  if (beating !== null) clearInterval(beating);
  process.exitCode = code;
  setImmediate(() => {
    if (process.connected) process.disconnect(); // inside a message's own turn it would throw (Node 20)
  });
  setTimeout(() => process.exit(code), LINGER_MS).unref();
};

const obey = (message: ToChild): void => {
  switch (message.type) {
    case "begin":
      return void begin(message).catch((cause: unknown) => fail(cause));
    case "drain":
      return void end(message.timeoutMs);
    default:
      return message satisfies never;
  }
};

const isToChild = (value: unknown): value is ToChild => ["begin", "drain"].includes(String(Reflect.get(Object(value), "type")));

process.on("message", (message: unknown) => {
  if (isToChild(message)) obey(message);
});
process.on("disconnect", () => {
  if (!isLeaving) void end(drainAskedMs ?? stopTimeoutMs); // the parent is gone, however it went
});
// A signal to the whole group, as from Ctrl-C, also reaches the parent, which decides
process.on("SIGINT", () => undefined);
process.on("SIGHUP", () => undefined);
process.on("SIGTERM", () => send({ type: "asked" }));
process.on("uncaughtExceptionMonitor", (error) =>
  send({ type: "failed", reason: failureText(error, "Something unreadable was thrown.").reason }),
);
// With the parent goes what reads our output
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
