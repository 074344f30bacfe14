import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LinkFault } from "../servers/network.ts";
import type { Hosts } from "./hosts.ts";
import type { Parents } from "./parents.ts";
import { FAULT_KINDS, type Fault, type FaultKind } from "./schedule.ts";

export interface FaultsHost {
  /** Where the processes look for how long they are to stand still. */
  readonly folder: string;
  readonly hosts: Hosts;
  /** Cuts all connections to the server. */
  cut(): void;
  /** Kills the server, and starts it again after so long. */
  killServer(awayMs: number): Promise<void>;
}

const LINK_FAULTS: Partial<Record<FaultKind, LinkFault>> = {
  "link-down": "down",
  "link-drop-out": "drop-out",
  "link-drop-in": "drop-in",
  "link-slow": "slow",
};

/** Carries out what the schedule says, and counts it. */
export class Faults {
  readonly counts: Record<FaultKind, number> = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<
    FaultKind,
    number
  >; // each of them
  readonly #host: FaultsHost;
  /** Stopped, with what will let it go on. */
  readonly #stopped = new Map<number, NodeJS.Timeout>();

  readonly #blockedUntilMs = new Map<number, number>();
  #quietAtMs = 0;
  /** The server is away. */
  #away: Promise<void> | null = null;

  constructor(host: FaultsHost) {
    this.#host = host;
  }

  /** False when it has to wait: while no child is ready, a parent may not listen to signals yet, and there is nobody to hurt. */
  inject(fault: Fault): boolean {
    const { host, parents, rest } = this.#host.hosts.pick(fault.pick);
    const { ready } = parents.current;
    const pid = ready[Math.floor(rest * ready.length)];
    if (pid === undefined) return false;
    if (fault.kind === "server-kill" && this.#away !== null) return false;
    const link = LINK_FAULTS[fault.kind];
    if (link === undefined) this.#carryOut(fault, parents, pid);
    else if (!this.#host.hosts.breakLink(host, link, fault.ms)) return false;
    this.#quietAtMs = Math.max(this.#quietAtMs, performance.now() + fault.ms);
    this.counts[fault.kind] += 1;
    return true;
  }

  #carryOut({ kind, ms }: Fault, parents: Parents, pid: number): void {
    switch (kind) {
      case "roll":
        return parents.current.signal("SIGHUP");
      case "orphan":
        return this.#orphan(parents);
      case "kill":
        // of one that is alone, nobody starts another
        return pid === parents.current.pid ? this.#orphan(parents) : signal(pid, "SIGKILL");
      case "stop":
        return this.#stop(pid, ms);
      case "block":
        return this.#block(pid, ms);
      case "cut":
        return this.#host.cut();
      case "server-kill":
        this.#away = this.#host.killServer(ms).finally(() => {
          this.#away = null;
        });
        return;
      default:
        return; // of the link
    }
  }

  /** Whether whatever was to last is over. */
  get isQuiet(): boolean {
    return performance.now() >= this.#quietAtMs && this.#away === null && this.#host.hosts.brokenLinks === 0;
  }

  /** Lets everything go on that was stopped, and heals what was broken. */
  end(): void {
    this.#host.hosts.healAll();
    for (const pid of this.#stopped.keys()) this.#letGo(pid);
  }

  /** A stopped child could not notice. */
  #orphan(parents: Parents): void {
    for (const pid of this.#stopped.keys()) this.#letGo(pid);
    parents.current.signal("SIGKILL");
    parents.replace();
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
