import type { SupervisorState } from "../supervise.ts";
import type { ChildInfo } from "../supervisor/child.ts";
import type { ProcessEvents } from "./events.ts";
import { parseProcessesOptions, type SuperviseProcessesOptions } from "./options.ts";
import { ProcessParent } from "./parent.ts";

/** A process of the tree as data. */
export interface ProcessInfo {
  /** "process-1", "process-2", …: a place, which outlives its processes. */
  readonly id: string;
  readonly kind: "process";
  /** `restarting`: failed, and waits to be started again. `failed`: failed too often, and given up. */
  readonly state: "starting" | "running" | "draining" | "restarting" | "failed" | "stopped";
  /** Since the supervisor was started; not those of a rolling restart. */
  readonly restarts: number;
  readonly lastError: Error | null;
  readonly details: {
    readonly pid: number | null;
    /** Resident memory, as of its last sign of life. */
    readonly rssBytes: number | null;
    /** 2 while a new one takes over. */
    readonly processes: number;
  };
  /** What `children()` says in that process, as of its last sign of life. */
  readonly children: readonly ChildInfo[];
}

/** Child processes at work, each with a tree of consumers. */
export interface ProcessSupervisor extends AsyncDisposable {
  readonly state: SupervisorState;
  /** Resolves with the error when a process is given up, so that the owner can act; the others go on. Never rejects. */
  readonly failure: Promise<Error>;
  readonly events: ProcessEvents;
  /** One for each process there is to be. */
  children(): ProcessInfo[];
  /**
   * Replaces all processes, one at a time: a new one is started, and the old one drained once that is ready. Each imports the
   * config anew. A new one that does not become ready ends it, and the old ones stay. Returns at once; `events` tell how it goes.
   */
  restart(): void;
  /**
   * Lets every process drain and end. What still runs after `timeoutMs` (default `stopTimeoutMs`) is aborted and given back,
   * uncharged; a process that does not end even so is killed a few seconds later. A later call can only shorten the time. Resolves
   * with true when nothing had to be aborted and no process was killed or crashed.
   * @throws invalid_option
   */
  drain(options?: { readonly timeoutMs?: number }): Promise<boolean>;
  /** The same, without an answer. Afterwards nothing is left running. Idempotent. */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/**
 * Runs a config in child processes and keeps them running: one that dies, hangs or cannot start is replaced, with a back-off, until
 * it fails too often. A child that loses its parent drains and ends. Resolves when every process is ready, or has met an obstacle
 * that is being dealt with, as `children()` and `events` tell.
 * @throws invalid_option - a wrong option, or a config that the first process refuses; nothing is left running
 */
export const superviseProcesses = async (options: SuperviseProcessesOptions): Promise<ProcessSupervisor> => {
  const parent = new ProcessParent(parseProcessesOptions(options));
  await parent.start();
  return parent;
};
