import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { asEnvironment, DRAIN_MS, HANG_MS, type SoakEnvironment } from "./app.ts";
import { residentMiB } from "./memory.ts";
import { RheoStart } from "./rheo-start.ts";

export interface ParentsOptions {
  readonly environment: SoakEnvironment;
  /** The command that runs `rheo`, without its arguments. */
  readonly rheo: readonly string[];
  /** Of `rheo start`: the config module. */
  readonly config: string;
  readonly processes: number;
  /** Of its logs. */
  readonly name: string;
}

/** A child must be gone so long after its parent was killed: its time to drain, the grace after it, and time to notice. */
const ORPHAN_MS = DRAIN_MS + 5_000 + 3_000;
/** Nothing takes longer to end. */
const END_MS = 60_000;

/** The `rheo start` of a soak: one at a time, each in the place of one that was killed; and what those left behind. */
export class Parents {
  readonly #options: ParentsOptions;
  readonly #all: RheoStart[] = [];
  /** Children whose parent was killed, and by when they must be gone. */
  readonly #orphans = new Map<number, number>();

  constructor(options: ParentsOptions) {
    this.#options = options;
    this.#start();
  }

  get current(): RheoStart {
    const current = this.#all.at(-1);
    if (current === undefined) throw new Error("The constructor starts one.");
    return current;
  }

  get orphans(): number {
    return this.#orphans.size;
  }

  /** As many children as there are to be, all ready, and none on its way in or out. */
  get isWhole(): boolean {
    const { ready, alive } = this.current;
    const { processes } = this.#options;
    return ready.length === processes && alive.size === processes && ready.every(isAlive);
  }

  /** After the current one was killed. */
  replace(): void {
    const untilMs = performance.now() + ORPHAN_MS;
    const { alive, pid: parent } = this.current;
    for (const pid of alive) if (pid !== parent) this.#orphans.set(pid, untilMs);
    this.#start();
  }

  /** What is wrong at this moment. A parent that has ended by itself is replaced, a child that outlived its parent is ended. */
  look(): string[] {
    const found: string[] = [];
    for (const [pid, untilMs] of this.#orphans) {
      if (!isAlive(pid)) this.#orphans.delete(pid);
      else if (performance.now() > untilMs) {
        found.push(`child ${pid} outlived its parent by more than ${ORPHAN_MS} ms`);
        this.#orphans.delete(pid);
        killNow(pid);
      }
    }
    if (this.current.isRunning) return found;
    found.push(`rheo start ended by itself: ${this.lastWords()}`);
    this.#start();
    return found;
  }

  lastWords(): string {
    return this.current.complaints.slice(-5).join(" | ");
  }

  /** SIGTERM, as an operator would. The exit code; −1 when it did not end. */
  async end(): Promise<number | null> {
    this.current.signal("SIGTERM");
    return await Promise.race([this.current.ended, sleep(END_MS, -1, { ref: false })]);
  }

  /** How often an event of this type came, over all of them. */
  count(type: string): number {
    return this.#all.reduce((sum, { counts }) => sum + (counts.get(type) ?? 0), 0);
  }

  /** Ends whatever is still there. */
  close(): void {
    for (const parent of this.#all) {
      if (parent.isRunning) parent.signal("SIGKILL");
      for (const pid of parent.alive) killNow(pid);
    }
  }

  #start(): void {
    const { rheo, config, processes, environment, name } = this.#options;
    const options = ["--json", "--processes", String(processes), "--hang-timeout", `${HANG_MS}ms`, "--max-restarts", "1000"];
    const log = join(environment.folder, `${name}-${this.#all.length}.log`);
    this.#all.push(new RheoStart([...rheo, "start", config, ...options], asEnvironment(environment), log));
  }
}

/** A zombie, which nobody waited for yet, has ended. */
const isAlive = (pid: number): boolean => residentMiB(pid) !== null;

const killNow = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it has ended
  }
};
