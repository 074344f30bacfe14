/**
 * A rolling restart, one place at a time: a new process is started, its readiness waited for, the old one drained, its end waited
 * for. So there is never one process less than there should be, and never more than one too many. When a new process does not
 * become ready, the rest is left as it is.
 */
import type { FleetEffect } from "./effects.ts";
import { changePlace, inTurn, leave, processOf, type Step, spawn } from "./places.ts";
import { type FleetState, GRACE_MS, placeName } from "./state.ts";

/** Also while one is under way: then everything is done once more after the step that is being done. */
export const restart = (state: FleetState): Step => {
  if (state.phase === "draining" || !state.configured) return [state, []];
  const queue = state.places.map((_, at) => at);
  return [
    { ...state, roll: { queue, step: state.roll?.step ?? null } },
    [{ type: "tell", event: { type: "restart.started", processes: queue.length } }],
  ];
};

/** One move of a rolling restart, or the same state when there is nothing to do but wait. */
export const roll = (state: FleetState, atMs: number): Step => {
  if (state.roll === null) return [state, []];
  const { step, queue } = state.roll;
  if (step !== null) return rollOn(state, step, queue, atMs);
  const [at, ...rest] = queue;
  if (at === undefined) return [{ ...state, roll: null }, [{ type: "tell", event: { type: "restart.finished" } }]];
  const place = state.places[at];
  if (place === undefined || place.restartAtMs !== null) return [{ ...state, roll: { queue: rest, step: null } }, []]; // it will start anew as it is
  const [spawned, effects] = spawn(
    changePlace(state, at, (before) => ({ ...before, isGivenUp: false })),
    at,
    atMs,
  );
  return [{ ...spawned, roll: { queue: rest, step: { place: at, serial: spawned.started } } }, effects];
};

const rollOn = (
  state: FleetState,
  step: { readonly place: number; readonly serial: number },
  queue: readonly number[],
  atMs: number,
): Step => {
  const successor = processOf(state, step.serial);
  const child = placeName(step.place);
  if (successor === null || successor.killed) {
    const error = state.places[step.place]?.lastError ?? successor?.lastWords ?? "It ended before it was ready.";
    return [{ ...state, roll: null }, [{ type: "tell", event: { type: "restart.abandoned", child, error } }]];
  }
  if (successor.phase !== "ready") return [state, []];
  const others = state.places[step.place]?.processes.filter(({ serial }) => serial !== step.serial) ?? [];
  if (others.length === 0) return [{ ...state, roll: { queue, step: null } }, []];
  const { stopTimeoutMs } = state;
  const staying = others.flatMap(({ serial, phase }) => (phase === "leaving" ? [] : [serial]));
  const [next, effects] = inTurn(state, staying, (before, serial) =>
    leave(before, serial, stopTimeoutMs, atMs + stopTimeoutMs + GRACE_MS),
  );
  const told = staying.map(
    (serial): FleetEffect => ({ type: "tell", event: { type: "child.draining", child, serial, timeoutMs: stopTimeoutMs } }),
  );
  return [next, [...told, ...effects]];
};
