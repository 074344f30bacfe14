/**
 * All decisions of a group: `(state, message) → [state, effects]`, pure. First the message is taken in (`receive`), then it is
 * decided what to do next (`decide`). Deliveries are counted here; which ones they are is the ledger's business.
 *
 * What holds in every state: at most one exchange is in flight; what is held never exceeds the demand; after a failed exchange
 * nothing is sent before the back-off ends; a stopped group does nothing.
 */
import { BACKOFF_JITTER, backoffMs, LIMITS } from "@rheo/core/internal";
import { onFinished, onGranted, onOverdue } from "./demand.ts";
import type { GroupEffect } from "./effects.ts";
import type { GroupMessage, GroupTimer } from "./messages.ts";
import { type GroupState, heldBy } from "./state.ts";

/** Outcomes wait at most this long for others to share the round trip. */
export const SETTLE_MS = 5;
/** A poll waits for this share of the time that the group has been idle: what only time brings (a retry, a lease that ends) is late by as much. */
const IDLE_SHARE = 1 / 8;
/** A poll is spread by this share to either side, so that members do not poll in step. */
const POLL_JITTER = 0.2;
/** After a drain has run out of time: for handlers to heed their signal, and for the last settlements. Then it ends regardless. */
const ABANDON_MS = 2_000;
/** Asked for in one fetch at most: what the port allows. */
const MAX_ASK: number = LIMITS.fetchLimit;

type Step = readonly [GroupState, readonly GroupEffect[]];

export const transition = (state: GroupState, message: GroupMessage): Step => {
  if (state.phase === "stopped") return [state, []];
  const [received, effects] = receive(state, message);
  const [decided, more] = decide(received);
  return [decided, more.length === 0 ? effects : [...effects, ...more]];
};

const receive = (state: GroupState, message: GroupMessage): Step => {
  switch (message.type) {
    case "ready":
      return ready(state);
    case "wakeup":
      return wake(state);
    case "tick":
      return tick(state, message.timer);
    case "fetched":
      return fetched(state, message);
    case "fetch_failed":
      return fetchFailed(state);
    case "started":
      return [{ ...state, unstarted: state.unstarted - message.count, running: state.running + message.count }, []];
    case "outcome":
      return outcome(state, message);
    case "released":
      return released(state, message);
    case "lost":
      return [{ ...state, unstarted: state.unstarted - message.unstarted, unsettled: state.unsettled - message.unsettled }, []];
    case "renewed":
      return [{ ...state, renewFailures: message.failures }, []];
    case "returned": {
      const back = message.count - message.dropped;
      return [{ ...state, running: state.running - message.count, unstarted: state.unstarted + back }, []];
    }
    case "partitions":
      return wake({ ...state, hasPartitions: message.any });
    case "ration":
      return ration(state, message);
    case "pause":
      return pause(state);
    case "resume":
      return resume(state);
    case "drain":
      return drain(state, message.timeoutMs);
    default:
      return message satisfies never;
  }
};

const ready = (state: GroupState): Step => {
  if (state.phase !== "starting") return [state, []];
  const running: Step = [{ ...state, phase: "running" }, [{ type: "tell", what: "started" }]];
  return state.pauseAsked ? [{ ...state, phase: "paused" }, [...running[1], { type: "tell", what: "paused" }]] : running;
};

const pause = (state: GroupState): Step => {
  if (state.phase === "starting") return [{ ...state, pauseAsked: true }, []];
  return state.phase === "running" ? [{ ...state, phase: "paused" }, [{ type: "tell", what: "paused" }]] : [state, []];
};

/** Remembered while a fetch is in flight, which may have looked too early. Never shortens a back-off. */
const wake = (state: GroupState): Step => {
  const woken = state.woken || state.wait !== "poll" || state.exchange !== null;
  if (state.wait === "poll") return [{ ...state, woken, idleSinceMs: null, wait: "none" }, [{ type: "disarm", timer: "poll" }]];
  return [woken === state.woken ? state : { ...state, woken }, []];
};

const tick = (state: GroupState, timer: GroupTimer): Step => {
  switch (timer) {
    case "poll":
    case "backoff":
      return [state.wait === timer ? { ...state, wait: "none" } : state, []];
    case "settle":
      return [state.settle === "armed" ? { ...state, settle: "due" } : state, []];
    case "deadline":
      if (state.phase !== "draining" || state.interrupted) return [state, []];
      return [
        { ...state, interrupted: true },
        [{ type: "interrupt" }, { type: "arm", timer: "abandon", delayMs: ABANDON_MS, jitter: 0 }],
      ];
    case "abandon":
      return state.interrupted ? stop(state) : [state, []];
    default:
      return timer satisfies never;
  }
};

const fetched = (state: GroupState, message: Extract<GroupMessage, { type: "fetched" }>): Step => {
  const { asked, granted, settled, more, longestPollMs, atMs } = message;
  const next: GroupState = {
    ...state,
    exchange: null,
    failures: 0,
    idleSinceMs: granted + settled > 0 || state.woken ? null : state.idleSinceMs,
    unsettled: state.unsettled - settled,
    unstarted: state.unstarted + granted,
  };
  if (asked === 0) return [next, []];
  const demand = onGranted(state.demand, asked, granted, atMs);
  if (granted >= asked || more || state.woken) return [{ ...next, demand, woken: false, wait: "none" }, disarmPoll(state)];
  const idleSinceMs = next.idleSinceMs ?? atMs;
  const delayMs = Math.max(state.settings.pollMs, Math.min(longestPollMs, (atMs - idleSinceMs) * IDLE_SHARE));
  return [{ ...next, demand, idleSinceMs, wait: "poll" }, [{ type: "arm", timer: "poll", delayMs, jitter: POLL_JITTER }]];
};

const disarmPoll = (state: GroupState): readonly GroupEffect[] =>
  state.wait === "poll" ? [{ type: "disarm", timer: "poll" }] : [];

const fetchFailed = (state: GroupState): Step => {
  const failures = state.failures + 1;
  return [
    { ...state, exchange: null, failures, wait: "backoff" },
    [...disarmPoll(state), { type: "arm", timer: "backoff", delayMs: backoffMs(failures), jitter: BACKOFF_JITTER }],
  ];
};

const outcome = (state: GroupState, { count, dropped, atMs }: Extract<GroupMessage, { type: "outcome" }>): Step => {
  const running = state.running - count;
  const demand = onFinished(state.demand, count, state.unstarted + running, atMs);
  return [{ ...state, running, unsettled: state.unsettled + count - dropped, demand }, []];
};

const released = (state: GroupState, { count, overdue }: Extract<GroupMessage, { type: "released" }>): Step => {
  const next = { ...state, unstarted: state.unstarted - count, unsettled: state.unsettled + count };
  return [overdue && count > 0 ? { ...next, demand: onOverdue(state.demand) } : next, []];
};

const resume = (state: GroupState): Step => {
  if (state.phase === "starting") return [{ ...state, pauseAsked: false }, []];
  if (state.phase !== "paused" && (state.phase !== "draining" || state.interrupted)) return [state, []];
  const effects: GroupEffect[] = state.phase === "draining" ? [{ type: "disarm", timer: "deadline" }] : [];
  return [{ ...state, phase: "running" }, [...effects, { type: "tell", what: "resumed" }]];
};

const ration = (state: GroupState, { ration: allowed, recall }: Extract<GroupMessage, { type: "ration" }>): Step => [
  { ...state, ration: allowed },
  recall && state.unstarted + state.running > 0 ? [{ type: "release_unstarted", recall }] : [],
];

/** A second drain only changes the deadline. */
const drain = (state: GroupState, timeoutMs: number): Step => {
  if (state.phase === "starting") return stop(state);
  if (state.interrupted) return [state, []];
  const arm: GroupEffect = { type: "arm", timer: "deadline", delayMs: timeoutMs, jitter: 0 };
  return [{ ...state, phase: "draining" }, state.phase === "draining" ? [arm] : [{ type: "tell", what: "draining" }, arm]];
};

const stop = (state: GroupState): Step => [
  { ...state, phase: "stopped" },
  [{ type: "tell", what: "stopped" }, { type: "finish" }],
];

const decide = (state: GroupState): Step => {
  if (state.phase === "stopped" || state.phase === "starting") return [state, []];
  if (state.phase === "draining" && heldBy(state) === 0 && state.exchange === null) return stop(state);
  const effects: GroupEffect[] = [];
  if (state.phase !== "running" && state.unstarted + state.running > 0) effects.push({ type: "release_unstarted", recall: true });
  else if (state.ration === 0 && state.unstarted > 0) effects.push({ type: "release_unstarted", recall: false });
  const [next, exchange] = decideExchange(state);
  effects.push(...exchange);
  if (state.phase === "running" && state.unstarted > 0 && state.ration !== 0) effects.push({ type: "run" });
  return [next, effects];
};

const decideExchange = (state: GroupState): Step => {
  if (state.exchange !== null || state.wait === "backoff") return [state, []];
  const fetch = wanted(state);
  const settling = state.unsettled > 0 && isTimeToSettle(state, fetch);
  if (!settling && (fetch === 0 || state.wait === "poll")) return armSettle(state);
  const disarm: readonly GroupEffect[] = state.settle === "armed" ? [{ type: "disarm", timer: "settle" }] : [];
  const woken = fetch > 0 ? false : state.woken;
  return [{ ...state, exchange: { asked: fetch }, settle: "idle", woken }, [...disarm, { type: "exchange", fetch }]];
};

/**
 * How many to ask for: what the demand and the ration leave, once that is worth a lease record, or as soon as a slot would stand
 * idle. What waits to be settled goes in the same step, so it no longer counts.
 */
const wanted = (state: GroupState): number => {
  if (state.phase !== "running" || state.renewFailures > 0 || !state.hasPartitions) return 0;
  const busy = state.unstarted + state.running;
  const ration = state.ration ?? Number.POSITIVE_INFINITY;
  const room = Math.min(state.demand.size - busy, ration - state.unstarted);
  if (room <= 0 || state.unstarted > ration / 2) return 0;
  return room >= state.demand.size / 2 || busy < state.settings.capacity ? Math.min(room, MAX_ASK) : 0;
};

/** At once when nothing else can finish, when half the demand waits, or when the fetch can use the round trip; else after a moment. */
const isTimeToSettle = (state: GroupState, fetch: number): boolean =>
  state.settle === "due" ||
  state.phase !== "running" ||
  state.unstarted + state.running === 0 ||
  state.unsettled >= state.demand.size / 2 ||
  (fetch > 0 && state.wait === "none");

const armSettle = (state: GroupState): Step =>
  state.unsettled > 0 && state.settle === "idle"
    ? [{ ...state, settle: "armed" }, [{ type: "arm", timer: "settle", delayMs: SETTLE_MS, jitter: 0 }]]
    : [state, []];
