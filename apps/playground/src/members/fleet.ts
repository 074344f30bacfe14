/** The members that somebody started, and what is done to them. */
import type { ChildLike } from "@rheo/dashboard";
import type { Narration } from "../narration.ts";
import type { Place } from "../place.ts";
import type { Stage } from "../stage.ts";
import type { MemberView, Mode, Tone } from "../views.ts";
import type { Guard } from "./guard-process.ts";
import { MemberProcess } from "./member-process.ts";

/** Processes with two threads each: enough to see them share, and to keep a laptop quiet. */
const MOST_MEMBERS = 6;
/** Before one that died is replaced, in ms: seen by people, and no storm of processes when each dies at once. */
const RESTART_MS = 1_000;

/** What can be done to a member that runs. */
export type Deed = "stop" | "kill" | "freeze" | "thaw" | "kill_thread";

export interface FleetParts {
  readonly place: Place;
  readonly stage: Stage;
  readonly guard: Guard;
  readonly narration: Narration;
}

export class Fleet implements AsyncDisposable {
  /** Whether a member that died is replaced. */
  restarts = false;
  readonly #parts: FleetParts;
  readonly #members = new Map<string, MemberProcess>();
  #started = 0;
  #isClosed = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /** Says so when there are as many as there may be. */
  start(mode: Mode = { kind: "normal" }): void {
    if (this.#isClosed) return;
    if (this.#members.size >= MOST_MEMBERS)
      return this.#say("playground", "warn", `has ${MOST_MEMBERS} members, and takes no more`);
    const { place, stage, guard } = this.#parts;
    const name = `member-${++this.#started}`;
    const assignment = { type: "begin", url: place.url, stream: stage.stream, group: stage.group, name, mode } as const;
    const member = new MemberProcess(assignment, {
      said: (saying) => this.#parts.narration.say(name, saying),
      ended: (how, isStopped) => this.#ended(member, how, isStopped),
    });
    this.#members.set(name, member);
    guard.born(member.pid);
    this.#say(name, "info", `is started: process ${member.pid}`);
  }

  /** Nothing when the member has ended meanwhile, or is in a state that does not allow it. */
  carryOut(name: string, deed: Deed): void {
    const member = this.#members.get(name);
    if (member === undefined || !FROM[deed].includes(member.state)) return;
    const [tone, text] = TOLD[deed];
    if (text !== null) this.#say(name, tone, text);
    DEEDS[deed](member);
  }

  /** Nothing when the member has ended meanwhile. */
  work(name: string, mode: Mode): void {
    const member = this.#members.get(name);
    if (member === undefined) return;
    member.work(mode);
    this.#say(name, "info", mode.kind === "slow" ? `works slowly now: ${mode.ms} ms for each event` : `is ${mode.kind} now`);
  }

  /** @param leases - held, by member */
  views(leases: ReadonlyMap<string, number>): readonly MemberView[] {
    return [...this.#members.values()].map((member) => ({
      name: member.name,
      pid: member.pid,
      state: member.state,
      mode: member.mode.kind,
      leases: leases.get(member.name) ?? 0,
    }));
  }

  /** The supervision tree of each. */
  children(): readonly ChildLike[] {
    return [...this.#members.values()].map(({ info }) => info);
  }

  /** Kills what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#members.values()].map((member) => member.kill()));
  }

  #ended(member: MemberProcess, how: string, isStopped: boolean): void {
    this.#members.delete(member.name);
    this.#parts.guard.gone(member.pid);
    this.#say(
      member.name,
      isStopped ? "info" : "warn",
      isStopped ? "has stopped" : `${how}: what it held comes free when its leases run out`,
    );
    if (this.restarts && !isStopped) setTimeout(() => this.start(member.mode), RESTART_MS).unref();
  }

  #say(who: string, tone: Tone, text: string): void {
    this.#parts.narration.say(who, { tone, text });
  }
}

const FROM: Readonly<Record<Deed, readonly MemberView["state"][]>> = {
  stop: ["starting", "running", "frozen"],
  kill: ["starting", "running", "frozen", "stopping"],
  freeze: ["running"],
  thaw: ["frozen"],
  kill_thread: ["running"],
};

const DEEDS: Readonly<Record<Deed, (member: MemberProcess) => void>> = {
  stop: (member) => member.stop(),
  kill: (member) => void member.kill(),
  freeze: (member) => member.freeze(),
  thaw: (member) => member.thaw(),
  kill_thread: (member) => member.killThread(),
};

/** What is said of it, beside what the member says by itself. */
const TOLD: Readonly<Record<Deed, readonly [Tone, string | null]>> = {
  stop: ["info", "is asked to stop"],
  kill: ["warn", "is killed with SIGKILL"],
  freeze: ["warn", "is frozen with SIGSTOP: its leases are not renewed"],
  thaw: ["info", "goes on after SIGCONT, as if nothing had been"],
  kill_thread: ["warn", null],
};
