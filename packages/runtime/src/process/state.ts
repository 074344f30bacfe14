import { NO_FAILURES, type RestartHistory, type RestartPolicy } from "../supervisor/restart.ts";

/** What the options mean to the decisions. Durations in ms. */
export interface FleetSettings {
  /** How many processes there are to be. */
  readonly processes: number;
  readonly policy: RestartPolicy;
  /** How often a process gives a sign of life, and how often the parent looks. */
  readonly beatMs: number;
  /** A process that is silent for so long hangs, and is killed. */
  readonly hangMs: number;
  /** A process that makes no progress for so long while it starts is killed. */
  readonly startMs: number;
  /** How long a process may drain; null: as long as the config says. */
  readonly stopTimeoutMs: number | null;
}

/**
 * - `starting`: no process has read the config yet, or not every place has had a process that is ready
 * - `running`
 * - `draining`: every process was told to drain
 * - `drained`: every process has ended
 */
type FleetPhase = "starting" | "running" | "draining" | "drained";

/** A process of the operating system. Told apart by `serial`, which is never used again. */
export interface ProcessState {
  readonly serial: number;
  /** `leaving`: was told to drain. */
  readonly phase: "starting" | "ready" | "leaving";
  /** SIGKILL was sent; what is left is to see it end. */
  readonly killed: boolean;
  /** When it gave its last sign of life. */
  readonly heardAtMs: number;
  /** By then it must have made progress (starting), or have ended (leaving). Infinity when nothing is due. */
  readonly dueAtMs: number;
  /** Why it is about to end, if that is known. */
  readonly lastWords: string | null;
}

/** One of the places that the parent keeps filled. */
export interface PlaceState {
  /** Oldest first: normally one; two while one takes over from the other; none while a restart is waited for. */
  readonly processes: readonly ProcessState[];
  readonly history: RestartHistory;
  readonly lastError: string | null;
  /** When a process is started here again. */
  readonly restartAtMs: number | null;
  /** When its process was asked to end by somebody else than the parent. */
  readonly askedAtMs: number | null;
  /** Failed too often. */
  readonly isGivenUp: boolean;
  /** Its start met something that is being dealt with. */
  readonly metObstacle: boolean;
}

/** A rolling restart. */
interface RollState {
  /** Places still to be done. */
  readonly queue: readonly number[];
  /** The place that is being done, and the process that is to take over there. */
  readonly step: { readonly place: number; readonly serial: number } | null;
}

/** Everything that a parent decides by. Instants are of a monotonic clock. */
export interface FleetState {
  readonly settings: FleetSettings;
  readonly phase: FleetPhase;
  readonly places: readonly PlaceState[];
  /** A process has read the config. Until then there is only one process. */
  readonly configured: boolean;
  /** A process has been ready: so the config can be run. */
  readonly hasRun: boolean;
  /** How long processes may drain, in ms. */
  readonly stopTimeoutMs: number;
  readonly roll: RollState | null;
  /** When what has not drained is killed; null until everything was told to. */
  readonly drainDueAtMs: number | null;
  /** What the first place was given up for. */
  readonly failure: string | null;
  /** What is wrong with the config, as a process found it before any was ready. */
  readonly refusal: string | null;
  /** False once a process that drained was killed, crashed, or had to abort handlers. */
  readonly isClean: boolean;
  /** Processes started so far. */
  readonly started: number;
  /** When the parent looked last. */
  readonly tickedAtMs: number;
}

/** For a process to end by itself once its time to drain is over. Then it is killed. */
export const GRACE_MS = 5_000;
/** The same when it was given no time at all. */
export const FORCE_GRACE_MS = 2_000;
/**
 * A signal to a whole process group reaches children and parent at about the same time: a child that got one waits so long for the
 * parent's.
 */
export const FAN_OUT_MS = 250;
/** How long processes may drain, unless the config or the options say otherwise. */
export const STOP_TIMEOUT_MS = 10_000;

export const initialFleet = (settings: FleetSettings, nowMs: number): FleetState => ({
  settings,
  phase: "starting",
  places: Array.from({ length: settings.processes }, () => EMPTY_PLACE),
  configured: false,
  hasRun: false,
  stopTimeoutMs: settings.stopTimeoutMs ?? STOP_TIMEOUT_MS,
  roll: null,
  drainDueAtMs: null,
  failure: null,
  refusal: null,
  isClean: true,
  started: 0,
  tickedAtMs: nowMs,
});

const EMPTY_PLACE: PlaceState = {
  processes: [],
  history: NO_FAILURES,
  lastError: null,
  restartAtMs: null,
  askedAtMs: null,
  isGivenUp: false,
  metObstacle: false,
};

/** What a place is to its supervisor: the process that is not about to leave; the elder one while another prepares to take over. */
export const holderOf = (place: PlaceState): ProcessState | null =>
  place.processes.find(({ phase, killed }) => phase === "ready" && !killed) ??
  place.processes.find(({ phase }) => phase !== "leaving") ??
  null;

export const isReady = (place: PlaceState): boolean => place.processes.some(({ phase, killed }) => phase === "ready" && !killed);

export const countReady = ({ places }: FleetState): number => places.filter(isReady).length;

/** Whether the start is over: every place is filled, or has met something that is being dealt with. */
export const hasStarted = (state: FleetState): boolean =>
  state.phase === "draining" ||
  state.phase === "drained" ||
  state.failure !== null ||
  (state.configured
    ? state.places.every((place) => isReady(place) || place.metObstacle)
    : state.places.some(({ metObstacle }) => metObstacle));

/** The name of a place, for people. */
export const placeName = (place: number): string => `process-${place + 1}`;
