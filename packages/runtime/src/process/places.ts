/** The state of a fleet looked at and changed by place and by process, and the three moves that every decision is made of. */
import type { FleetEffect } from "./effects.ts";
import { type FleetState, type PlaceState, type ProcessState, placeName } from "./state.ts";

export type Step = readonly [FleetState, readonly FleetEffect[]];

export const spawn = (state: FleetState, at: number, atMs: number): Step => {
  const serial = state.started + 1;
  const born: ProcessState = {
    serial,
    phase: "starting",
    killed: false,
    heardAtMs: atMs,
    dueAtMs: atMs + state.settings.startMs,
    lastWords: null,
  };
  const next = changePlace({ ...state, started: serial }, at, (place) => ({
    ...place,
    processes: [...place.processes, born],
    restartAtMs: null,
  }));
  return [
    next,
    [
      { type: "spawn", place: at, serial },
      { type: "tell", event: { type: "child.started", child: placeName(at), serial } },
    ],
  ];
};

export const kill = (state: FleetState, serial: number, why: string): Step => [
  changeProcess(state, serial, (one) => ({ ...one, killed: true, lastWords: why })),
  [{ type: "kill", serial }],
];

export const leave = (state: FleetState, serial: number, timeoutMs: number, dueAtMs: number): Step => {
  const one = processOf(state, serial);
  if (one === null || one.killed) return [changeProcess(state, serial, (killed) => ({ ...killed, phase: "leaving" })), []];
  return [
    changeProcess(state, serial, (before) => ({ ...before, phase: "leaving", dueAtMs })),
    [{ type: "drain", serial, timeoutMs }],
  ];
};

export const inTurn = <Item>(state: FleetState, items: readonly Item[], move: (state: FleetState, item: Item) => Step): Step => {
  let next = state;
  const effects: FleetEffect[] = [];
  for (const item of items) {
    const [moved, more] = move(next, item);
    next = moved;
    effects.push(...more);
  }
  return [next, effects];
};

export const serialsOf = ({ places }: FleetState): readonly number[] =>
  places.flatMap(({ processes }) => processes.map(({ serial }) => serial));

/** −1 for a process that has ended. */
export const placeOf = ({ places }: FleetState, serial: number): number =>
  places.findIndex(({ processes }) => processes.some((one) => one.serial === serial));

export const processOf = (state: FleetState, serial: number): ProcessState | null =>
  state.places[placeOf(state, serial)]?.processes.find((one) => one.serial === serial) ?? null;

export const changePlace = (state: FleetState, at: number, change: (place: PlaceState) => PlaceState): FleetState => ({
  ...state,
  places: state.places.map((place, index) => (index === at ? change(place) : place)),
});

export const changePlaceOf = (state: FleetState, serial: number, change: (place: PlaceState) => PlaceState): FleetState => {
  const at = placeOf(state, serial);
  return at === -1 ? state : changePlace(state, at, change);
};

export const changeProcess = (state: FleetState, serial: number, change: (one: ProcessState) => ProcessState): FleetState =>
  changePlaceOf(state, serial, (place) => ({
    ...place,
    processes: place.processes.map((one) => (one.serial === serial ? change(one) : one)),
  }));
