import { setTimeout as sleep } from "node:timers/promises";
import { threadId } from "node:worker_threads";
import { ack, type Event, type Outcome, reject, retry } from "@rheo/core";
import { type SoakPayload, soakEnvironment } from "./app.ts";
import { Recorder } from "./record.ts";

/** What is needed of a handler's context. */
interface SoakContext {
  readonly attempt: number;
  readonly token: number;
  readonly partition: number;
  readonly sequence: number;
}

export type SoakHandler = (event: Event, context: SoakContext) => Promise<Outcome>;

/** The work of a soak: what the payload says, and a note once it is done. Threads may be killed by it. */
export const handleIn = (group: string, mayKill: boolean): SoakHandler => {
  const recorder = new Recorder(soakEnvironment().folder, `handled-${process.pid}-${threadId}`);
  return async (event, context) => {
    const { do: action } = event.payload as unknown as SoakPayload; // the producer writes nothing else
    const { attempt, token, partition, sequence } = context;
    const isFirst = attempt === 1;
    if (mayKill && isFirst && action === "exit") process.exit(1);
    if (mayKill && isFirst && action === "throwInTimer") await thrown();
    if (mayKill && action === "spin") for (const end = performance.now() + SPIN_MS; performance.now() < end; );
    if (action === "wait") await sleep(WAIT_MS);
    if (action === "retry" && attempt <= 2) return retry("not yet", { delayMs: RETRY_MS });
    recorder.write({ kind: "handled", group, partition, sequence, token });
    return action === "reject" ? reject("as the payload says") : ack();
  };
};

const SPIN_MS = 200;
const WAIT_MS = 50;
const RETRY_MS = 100;

/** The thread ends of it while this waits. */
const thrown = async (): Promise<void> => {
  setTimeout(() => {
    throw new Error("as the payload says");
  }, 1);
  await sleep(10_000);
};
