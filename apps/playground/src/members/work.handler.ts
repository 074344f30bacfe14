/** The work of a member, in its worker threads. It does to itself whatever the playground asks for. */
import { setTimeout as sleep } from "node:timers/promises";
import { BroadcastChannel, threadId } from "node:worker_threads";
import { handler, type Outcome, retry } from "@rheo/runtime/handler";
import type { Order } from "../publisher.ts";
import type { Mode } from "../views.ts";
import { type FromThread, THREAD_CHANNEL, type ToThreads } from "./thread-channel.ts";

/** Long enough for a lease to be seen. */
const NORMAL_MS = 30;

interface Line {
  readonly channel: BroadcastChannel;
  mode: Mode;
}

/** Asks for the mode, and waits until it is told. */
const setup = (): Promise<Line> =>
  new Promise((resolve) => {
    const channel = new BroadcastChannel(THREAD_CHANNEL);
    const line: Line = { channel, mode: { kind: "normal" } };
    channel.onmessage = (message: unknown): void => {
      const { data } = message as { readonly data: ToThreads | FromThread }; // only this app posts here
      if (data.type === "die" && data.threadId === threadId) process.exit(1);
      if (data.type !== "mode") return;
      line.mode = data.mode;
      resolve(line);
    };
    channel.postMessage({ type: "here", threadId } satisfies FromThread);
  });

const work = async (mode: Mode, signal: AbortSignal): Promise<Outcome | undefined> => {
  switch (mode.kind) {
    case "normal":
      await sleep(NORMAL_MS, undefined, { signal });
      return undefined;
    case "slow":
      await sleep(mode.ms, undefined, { signal });
      return undefined;
    case "failing":
      await sleep(NORMAL_MS, undefined, { signal });
      return retry("the playground made this handler fail");
    default:
      return mode satisfies never;
  }
};

/** Takes the thread down with a throw that nobody can catch, or the process with it. Neither comes back. */
const die = (poison: "thread" | "process"): Promise<never> => {
  if (poison === "process") process.kill(process.pid, "SIGKILL");
  setTimeout(() => {
    throw new Error("poison: thrown in a timer");
  });
  return new Promise(() => {});
};

export default handler<Order, Line>(
  ({ payload: { poison } }, { signal, value: { mode } }) => (poison === "none" ? work(mode, signal) : die(poison)),
  { setup, teardown: ({ channel }) => channel.close() },
);
