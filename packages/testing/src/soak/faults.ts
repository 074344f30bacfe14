import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RheoStart } from "./rheo-start.ts";
import type { Fault, FaultKind } from "./schedule.ts";

export interface FaultsHost {
  /** Where the processes look for how long they are to stand still. */
  readonly folder: string;
  /** The parent at this moment. */
  parent(): RheoStart;
  /** Starts another parent in the place of the one that was killed. */
  replaceParent(): void;
}

/** Carries out what the schedule says, and counts it. */
export class Faults {
  readonly counts: Record<FaultKind, number> = { kill: 0, stop: 0, block: 0, roll: 0, orphan: 0 };
  readonly #host: FaultsHost;
  /** Stopped, with what will let it go on. */
  readonly #stopped = new Map<number, NodeJS.Timeout>();

  readonly #blockedUntilMs = new Map<number, number>();
  #quietAtMs = 0;

  constructor(host: FaultsHost) {
    this.#host = host;
  }

  /** False when it has to wait: while no child is ready, a parent may not listen to signals yet, and there is nobody to hurt. */
  inject(fault: Fault): boolean {
    const parent = this.#host.parent();
    const pid = parent.ready[Math.floor(fault.pick * parent.ready.length)];
    if (pid === undefined) return false;
    this.#quietAtMs = Math.max(this.#quietAtMs, performance.now() + fault.ms);
    if (fault.kind === "roll") parent.signal("SIGHUP");
    else if (fault.kind === "orphan") this.#orphan(parent);
    else if (fault.kind === "kill") signal(pid, "SIGKILL");
    else if (fault.kind === "stop") this.#stop(pid, fault.ms);
    else this.#block(pid, fault.ms);
    this.counts[fault.kind] += 1;
    return true;
  }

  /** Whether whatever was to last is over. */
  get isQuiet(): boolean {
    return performance.now() >= this.#quietAtMs;
  }

  /** Lets everything go on that was stopped. */
  end(): void {
    for (const pid of this.#stopped.keys()) this.#letGo(pid);
  }

  /** A stopped child could not notice. */
  #orphan(parent: RheoStart): void {
    this.end();
    parent.signal("SIGKILL");
    this.#host.replaceParent();
  }

  #stop(pid: number, ms: number): void {
    if (this.#stopped.has(pid)) return;
    signal(pid, "SIGSTOP");
    this.#stopped.set(
      pid,
      setTimeout(() => this.#letGo(pid), ms),
    );
  }

  #letGo(pid: number): void {
    clearTimeout(this.#stopped.get(pid));
    this.#stopped.delete(pid);
    signal(pid, "SIGCONT");
  }

  #block(pid: number, ms: number): void {
    if (performance.now() < (this.#blockedUntilMs.get(pid) ?? 0)) return; // one after the other would last longer than either says
    this.#blockedUntilMs.set(pid, performance.now() + ms);
    writeFileSync(join(this.#host.folder, `block-${pid}`), String(ms));
    signal(pid, "SIGUSR2");
  }
}

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended meanwhile
  }
};
