/**
 * A worker thread is killed by its own handler. The process lives on, knows which event was running, and offers that one again
 * at once: no lease has to end first. Always in real time, as what counts here is how long it takes.
 */
import { BroadcastChannel } from "node:worker_threads";
import { Rheo, type RheoEventOf } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { ATTEMPTS_CHANNEL, type Attempt, FATAL } from "./attempts.ts";
import type { Outcome, StoryReport } from "./report.ts";
import { clearing, type Stage, storyReport } from "./stage.ts";
import { type Audience, Found, play, type Step } from "./step.ts";

const GROUP = "risk";
const LEASE_MS = 30_000;
const EVENTS = 8;
/** Sequence of the event that kills its thread: not the last of the slice that the thread is given, so that others wait behind it. */
const FATAL_SEQUENCE = 2;
/**
 * From the start of the attempt that dies to the start of the next one, in ms. It takes 10 to 30 on an idle machine; the bound
 * is for a busy one, and still a small part of the lease.
 */
const REDELIVERY_MS = 3_000;
/** Longer than all of it takes on a busy machine, in ms, and shorter than the lease. */
const PATIENCE_MS = 15_000;

interface ThreadScene {
  readonly rheo: Rheo;
  readonly stream: string;
  readonly signal: AbortSignal;
  /** Every start of the handler, as its threads told it. */
  readonly attempts: readonly Attempt[];
  readonly death: Found<RheoEventOf<"thread.died">>;
  readonly lag: Found<number>;
}

const append: Step<ThreadScene> = {
  name: "append",
  doing: "appending events",
  run: async ({ rheo, stream }) => {
    await rheo.createStream(stream, { partitions: 1 });
    await rheo.createGroup(stream, GROUP, { leaseMs: LEASE_MS });
    const drafts = Array.from({ length: EVENTS }, (_, index) => ({
      type: index + 1 === FATAL_SEQUENCE ? FATAL : "curve_update",
      payload: index,
    }));
    const events = await rheo.appendMany(stream, drafts);
    return {
      detail: `${events.length} events; the handler calls process.exit(1) on its first attempt of 0@${FATAL_SEQUENCE}`,
      expected: { "the fatal event has its place": events[FATAL_SEQUENCE - 1]?.sequence === FATAL_SEQUENCE },
    };
  },
};

const crash: Step<ThreadScene> = {
  name: "crash",
  doing: "running a supervised consumer",
  run: async ({ rheo, stream, signal, death }) => {
    rheo.events.once("thread.died", (event) => death.set(event));
    const handler = new URL("./handlers/exits-once.js", import.meta.url);
    const consumer = defineConsumer({ stream, group: GROUP, handler, concurrency: EVENTS, pollMs: 20 });
    await using _app = await supervise({ rheo, consumers: [consumer], threads: 2 });
    await rheo.whenCaughtUp(stream, GROUP, { signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]) });
    const died = death.getOrNull();
    return {
      detail:
        died === null
          ? "no thread died"
          : `worker thread ${died.threadId} died: ${died.reason}; ${died.charged} event charged, ${died.redispatched} handed on`,
      expected: { "a thread died": died !== null, "only the event that was running is charged": died?.charged === 1 },
    };
  },
};

const redeliver: Step<ThreadScene> = {
  name: "redeliver",
  doing: "looking at the next attempt",
  run: async ({ attempts }) => {
    const [first, second, ...more] = attemptsOfFatal(attempts);
    if (first === undefined || second === undefined)
      return { detail: "there was none", expected: { "the event comes again": false } };
    const afterMs = second.atMs - first.atMs;
    return {
      detail: `0@${FATAL_SEQUENCE} comes again after ${afterMs} ms, long before its lease of ${LEASE_MS / 1_000} s ends: attempt ${second.attempt}, token ${second.token} after ${first.token}`,
      expected: {
        "it does not wait for the lease": afterMs <= REDELIVERY_MS,
        "it is attempt 2, and the last": second.attempt === 2 && more.length === 0,
        "its token is higher": second.token > first.token,
      },
    };
  },
};

const neighbours: Step<ThreadScene> = {
  name: "neighbours",
  doing: "looking at the other events",
  run: async ({ attempts }) => {
    const others = attempts.filter(({ sequence }) => sequence !== FATAL_SEQUENCE);
    return {
      detail: `${others.length} other events, each on attempt ${[...new Set(others.map(({ attempt }) => attempt))].join(" or ")}`,
      expected: {
        "each ran once": others.length === EVENTS - 1,
        "none was charged": others.every(({ attempt }) => attempt === 1),
      },
    };
  },
};

const aftermath: Step<ThreadScene> = {
  name: "aftermath",
  doing: "looking around",
  run: async ({ rheo, stream, lag: found }) => {
    const { lag, inflight, deadLetters } = await rheo.groupInfo(stream, GROUP);
    found.set(lag);
    return {
      detail: `lag ${lag}; ${inflight} leased, ${deadLetters} dead letters`,
      expected: { "lag is 0": lag === 0, "no delivery is stuck": inflight === 0, "nothing is dead": deadLetters === 0 },
    };
  },
};

const THREAD_STORY: readonly Step<ThreadScene>[] = [append, crash, redeliver, neighbours, aftermath];

/** Lets a handler take its thread down, and shows what that costs. */
export const killThread = async (stage: Stage, audience: Audience): Promise<StoryReport> => {
  await using rheo = await Rheo.open(stage.url);
  await using _stream = clearing(rheo, stage);
  using watch = watchAttempts(stage.stream);
  const scene: ThreadScene = {
    rheo,
    stream: stage.stream,
    signal: stage.signal,
    attempts: watch.attempts,
    death: new Found(),
    lag: new Found(),
  };
  const steps = await play(THREAD_STORY, scene, audience);
  return storyReport({ killed: "thread", killAt: null, outcome: outcomeOf(scene) }, steps);
};

const attemptsOfFatal = (attempts: readonly Attempt[]): readonly Attempt[] =>
  attempts.filter(({ sequence }) => sequence === FATAL_SEQUENCE);

const outcomeOf = ({ attempts, lag }: ThreadScene): Outcome => {
  const [before, after] = attemptsOfFatal(attempts);
  const redelivery =
    before && after
      ? { attempt: after.attempt, victimToken: before.token, token: after.token, afterMs: after.atMs - before.atMs }
      : null;
  return { ackLanded: before === undefined ? null : false, redelivery, lateAck: null, lag: lag.getOrNull() };
};

const watchAttempts = (stream: string): { readonly attempts: readonly Attempt[] } & Disposable => {
  const attempts: Attempt[] = [];
  const channel = new BroadcastChannel(ATTEMPTS_CHANNEL);
  channel.onmessage = ({ data }: { data: Attempt }): void => void (data.stream === stream && attempts.push(data));
  return { attempts, [Symbol.dispose]: () => channel.close() };
};
