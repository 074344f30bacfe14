/**
 * All decisions of a parent of processes: `(state, message) → [state, effects]`, pure. First the message is taken in (`receive`),
 * then it is decided what follows from the new state (`decide`): the next step of a rolling restart (`roll.ts`), or the end.
 *
 * What holds in every state: a place has at most one process that is neither leaving nor killed, but for the one that takes over
 * in a rolling restart; a drained fleet has no process and does nothing.
 */
import { onFailure } from "../supervisor/restart.ts";
import type { FleetEffect } from "./effects.ts";
import type { FleetMessage } from "./messages.ts";
import {
  changePlace,
  changePlaceOf,
  changeProcess,
  inTurn,
  kill,
  leave,
  placeOf,
  processOf,
  type Step,
  serialsOf,
  spawn,
} from "./places.ts";
import { restart, roll } from "./roll.ts";
import {
  countReady,
  FAN_OUT_MS,
  type FleetState,
  FORCE_GRACE_MS,
  GRACE_MS,
  isReady,
  type ProcessState,
  placeName,
} from "./state.ts";

/**
 * Looks that lie further apart than so many intervals mean that the parent itself was stopped: what it did not hear meanwhile
 * proves nothing.
 */
const SLEPT_BEATS = 2;

type Exited = Extract<FleetMessage, { type: "exited" }>;

export const transition = (state: FleetState, message: FleetMessage): Step => {
  if (state.phase === "drained") return [state, []];
  const [received, effects] = receive(heard(state, message), message);
  const [decided, more] = decide(received, message.atMs);
  return [decided, more.length === 0 ? effects : [...effects, ...more]];
};

/** When something falls due by time alone: at the latest after one interval. */
export const nextDueAtMs = ({ settings, places, tickedAtMs }: FleetState): number => {
  let dueAtMs = tickedAtMs + settings.beatMs;
  for (const { processes, restartAtMs, askedAtMs } of places) {
    for (const { killed, dueAtMs: due } of processes) if (!killed) dueAtMs = Math.min(dueAtMs, due);
    if (restartAtMs !== null) dueAtMs = Math.min(dueAtMs, restartAtMs);
    if (askedAtMs !== null) dueAtMs = Math.min(dueAtMs, askedAtMs + FAN_OUT_MS);
  }
  return dueAtMs;
};

const receive = (state: FleetState, message: FleetMessage): Step => {
  switch (message.type) {
    case "start":
      return spawn(state, 0, message.atMs);
    case "tick":
      return tick(state, message.atMs);
    case "beat":
      return [state, []];
    case "configured":
      return configured(state, message.serial, message.stopTimeoutMs, message.atMs);
    case "waiting":
      return waiting(state, message.serial, message.reason, message.atMs);
    case "ready":
      return ready(state, message.serial);
    case "refused":
      return refused(state, message.serial, message.reason, message.atMs);
    case "failed":
      return [changeProcess(state, message.serial, (one) => ({ ...one, lastWords: one.lastWords ?? message.reason })), []];
    case "asked":
      return [asked(state, message.serial, message.atMs), []];
    case "exited":
      return exited(state, message);
    case "restart":
      return restart(state);
    case "drain":
      return drain(state, message.timeoutMs ?? state.stopTimeoutMs, message.atMs);
    default:
      return message satisfies never;
  }
};

/** Any word from a process is a sign of life. */
const heard = (state: FleetState, message: FleetMessage): FleetState =>
  "serial" in message && message.type !== "exited"
    ? changeProcess(state, message.serial, (one) => ({ ...one, heardAtMs: message.atMs }))
    : state;

// Starting

const configured = (state: FleetState, serial: number, stopTimeoutMs: number | null, atMs: number): Step => {
  if (placeOf(state, serial) === -1 || state.phase === "draining") return [state, []];
  const known = {
    ...changeProcess(state, serial, (one) =>
      one.phase === "starting" ? { ...one, dueAtMs: atMs + state.settings.startMs } : one,
    ),
    configured: true,
    stopTimeoutMs: state.settings.stopTimeoutMs ?? stopTimeoutMs ?? state.stopTimeoutMs,
  };
  return state.configured ? [known, []] : inTurn(known, emptyPlaces(known), (next, place) => spawn(next, place, atMs));
};

const emptyPlaces = ({ places }: FleetState): readonly number[] =>
  places.flatMap(({ processes, restartAtMs, isGivenUp }, at) =>
    processes.length === 0 && restartAtMs === null && !isGivenUp ? [at] : [],
  );

/** A store that is away is waited for, except by one that is to take over: the old one is better than none. */
const waiting = (state: FleetState, serial: number, reason: string, atMs: number): Step => {
  const at = placeOf(state, serial);
  if (at === -1) return [state, []];
  const patient = changeProcess(state, serial, (one) =>
    one.phase === "starting" && state.roll?.step?.serial !== serial ? { ...one, dueAtMs: atMs + state.settings.startMs } : one,
  );
  return [
    changePlace(patient, at, (place) => ({ ...place, metObstacle: true })),
    [{ type: "tell", event: { type: "child.waiting", child: placeName(at), serial, reason } }],
  ];
};

const ready = (state: FleetState, serial: number): Step => {
  const at = placeOf(state, serial);
  if (at === -1 || processOf(state, serial)?.phase !== "starting") return [state, []];
  const next = changeProcess(state, serial, (one) => ({ ...one, phase: "ready", dueAtMs: Number.POSITIVE_INFINITY }));
  const all = next.places.every(isReady);
  return [
    { ...next, hasRun: true, phase: all && next.phase === "starting" ? "running" : next.phase },
    [
      {
        type: "tell",
        event: {
          type: "child.ready",
          child: placeName(at),
          serial,
          ready: countReady(next),
          processes: state.settings.processes,
        },
      },
    ],
  ];
};

/** Before any process was ready the config is at fault, which no restart heals; later it is the failure of one process. */
const refused = (state: FleetState, serial: number, reason: string, atMs: number): Step => {
  if (placeOf(state, serial) === -1) return [state, []];
  const known = changeProcess(state, serial, (one) => ({ ...one, lastWords: reason }));
  return state.hasRun || state.phase === "draining" ? [known, []] : drain({ ...known, refusal: reason }, 0, atMs);
};

/** Known only until the parent's own signal has had time to come. */
const asked = (state: FleetState, serial: number, atMs: number): FleetState =>
  state.phase === "draining" || processOf(state, serial)?.phase === "leaving"
    ? state
    : changePlaceOf(state, serial, (place) => ({ ...place, askedAtMs: place.askedAtMs ?? atMs }));

// Time

const tick = (state: FleetState, atMs: number): Step => {
  const { beatMs } = state.settings;
  const gapMs = atMs - state.tickedAtMs;
  const awake = gapMs > SLEPT_BEATS * beatMs ? postponed(state, gapMs - beatMs, atMs) : state;
  const [killed, effects] = inTurn({ ...awake, tickedAtMs: atMs }, serialsOf(awake), (next, serial) => check(next, serial, atMs));
  const [restarted, more] = inTurn(killed, dueRestarts(killed, atMs), (next, place) => spawn(next, place, atMs));
  return [obeyed(restarted, atMs), [...effects, ...more]];
};

/** As if the time that the parent was stopped had not been. */
const postponed = (state: FleetState, byMs: number, atMs: number): FleetState => ({
  ...state,
  drainDueAtMs: state.drainDueAtMs === null ? null : state.drainDueAtMs + byMs,
  places: state.places.map((place) => ({
    ...place,
    restartAtMs: place.restartAtMs === null ? null : place.restartAtMs + byMs,
    askedAtMs: place.askedAtMs === null ? null : place.askedAtMs + byMs,
    processes: place.processes.map((one) => ({
      ...one,
      heardAtMs: Math.min(one.heardAtMs + byMs, atMs),
      dueAtMs: one.dueAtMs + byMs,
    })),
  })),
});

const check = (state: FleetState, serial: number, atMs: number): Step => {
  const one = processOf(state, serial);
  if (one === null || one.killed) return [state, []];
  const { startMs, hangMs } = state.settings;
  const silentMs = atMs - one.heardAtMs;
  if (one.phase !== "starting" && silentMs >= hangMs) {
    const child = placeName(placeOf(state, serial));
    const [next, effects] = kill(state, serial, `It gave no sign of life for ${Math.round(silentMs)} ms.`);
    return [next, [{ type: "tell", event: { type: "child.unresponsive", child, serial, silentMs } }, ...effects]];
  }
  if (atMs < one.dueAtMs) return [state, []];
  return kill(
    state,
    serial,
    one.phase === "starting" ? `It made no progress in its start for ${startMs} ms.` : "It did not end in time.",
  );
};

const dueRestarts = ({ places }: FleetState, atMs: number): readonly number[] =>
  places.flatMap(({ restartAtMs }, at) => (restartAtMs !== null && restartAtMs <= atMs ? [at] : []));

/** Processes that were asked to end, and whose parent was not, are replaced. */
const obeyed = (state: FleetState, atMs: number): FleetState => {
  const asked = state.places.flatMap(({ askedAtMs }, at) => (askedAtMs !== null && askedAtMs + FAN_OUT_MS <= atMs ? [at] : []));
  if (asked.length === 0) return state;
  const roll = state.roll ?? { queue: [], step: null };
  const queue = [...roll.queue, ...asked.filter((at) => !roll.queue.includes(at))];
  return {
    ...state,
    roll: { ...roll, queue },
    places: state.places.map((place, at) => (asked.includes(at) ? { ...place, askedAtMs: null } : place)),
  };
};

// Ending

const exited = (state: FleetState, message: Exited): Step => {
  const at = placeOf(state, message.serial);
  const one = processOf(state, message.serial);
  if (at === -1 || one === null) return [state, []];
  const gone = changePlace(state, at, (place) => ({
    ...place,
    processes: place.processes.filter(({ serial }) => serial !== message.serial),
  }));
  if (one.phase !== "leaving") return failed(gone, at, one, message);
  if (gone.refusal !== null) return [gone, []];
  const drained = message.isDrained && !one.killed;
  const reason = drained ? null : [one.lastWords, message.how].filter((words) => words !== null).join(" ");
  return [
    { ...gone, isClean: gone.isClean && (drained || gone.phase !== "draining") },
    [{ type: "tell", event: { type: "child.stopped", child: placeName(at), serial: one.serial, drained, reason } }],
  ];
};

const failed = (state: FleetState, at: number, one: ProcessState, { how, random, atMs }: Exited): Step => {
  const error = one.lastWords ?? how;
  const child = placeName(at);
  const known = changePlace(state, at, (place) => ({ ...place, lastError: error, metObstacle: true, askedAtMs: null }));
  const told: FleetEffect = { type: "tell", event: { type: "child.failed", child, serial: one.serial, error } };
  const place = known.places[at];
  if (place === undefined || place.processes.some(({ phase, killed }) => phase !== "leaving" && !killed)) return [known, [told]];
  const { policy } = state.settings;
  const decision = onFailure(policy, place.history, atMs, random);
  const { restarts } = decision.history;
  if (decision.kind === "restart") {
    const { history, inMs } = decision;
    return [
      changePlace(known, at, (before) => ({ ...before, history, restartAtMs: atMs + inMs })),
      [told, { type: "tell", event: { type: "child.restarting", child, restarts, inMs } }],
    ];
  }
  return [
    { ...changePlace(known, at, (before) => ({ ...before, isGivenUp: true })), failure: state.failure ?? error },
    [told, { type: "tell", event: { type: "supervisor.escalated", child, restarts, withinMs: policy.withinMs, error } }],
  ];
};

/** A later one can only shorten the time. */
const drain = (state: FleetState, timeoutMs: number, atMs: number): Step => {
  const dueAtMs = atMs + timeoutMs + (timeoutMs === 0 ? FORCE_GRACE_MS : GRACE_MS);
  if (state.drainDueAtMs !== null && dueAtMs >= state.drainDueAtMs) return [state, []];
  const told: readonly FleetEffect[] =
    state.phase === "draining" || state.refusal !== null
      ? []
      : [{ type: "tell", event: { type: "supervisor.draining", timeoutMs } }];
  const draining: FleetState = {
    ...state,
    phase: "draining",
    roll: null,
    drainDueAtMs: dueAtMs,
    places: state.places.map((place) => ({ ...place, restartAtMs: null, askedAtMs: null })),
  };
  const [next, effects] = inTurn(draining, serialsOf(draining), (before, serial) => leave(before, serial, timeoutMs, dueAtMs));
  return [next, [...told, ...effects]];
};

// What follows

const decide = (state: FleetState, atMs: number): Step => {
  if (state.phase === "draining") return finishIfEmpty(state);
  let step: Step = [state, []];
  for (let more = true; more; ) {
    const [next, effects] = roll(step[0], atMs);
    more = next !== step[0] && next.roll !== null;
    step = [next, [...step[1], ...effects]];
  }
  return step;
};

const finishIfEmpty = (state: FleetState): Step => {
  if (serialsOf(state).length > 0) return [state, []];
  const told: readonly FleetEffect[] =
    state.refusal === null ? [{ type: "tell", event: { type: "supervisor.drained", drained: state.isClean } }] : [];
  return [{ ...state, phase: "drained" }, [...told, { type: "finish" }]];
};
