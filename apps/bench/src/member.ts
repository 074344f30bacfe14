import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const MODULE = fileURLToPath(new URL("processes/member.js", import.meta.url));
/** A process that takes longer for what is waited for is broken, in ms. */
const LONGEST_MS = 120_000;

/**
 * What a member does with its events. `hold`: starts a handler for each, and never ends it. `ack`: acks each. The others drain, once
 * they are told to begin.
 */
export type Manners = "hold" | "ack" | "drain-inline" | "drain-worker";

/** A consumer in a process of its own. */
export class Member {
  readonly #child: ChildProcess;
  #count = 0;

  /** Resolves once it consumes, or waits to be told to. */
  static async start(storeUrl: string, manner: Manners): Promise<Member> {
    const member = new Member(fork(MODULE, [storeUrl, manner]));
    await member.#until((message) => message === "ready");
    return member;
  }

  /** Until members have together handled so many. */
  static async counted(members: readonly Member[], count: number): Promise<void> {
    const sum = (): number => members.reduce((total, member) => total + member.#count, 0);
    await Promise.race(members.map((member) => member.#until(() => sum() >= count)));
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (message) => {
      if (typeof message === "number") this.#count += message;
    });
  }

  begin(): void {
    this.#child.send("begin");
  }

  /** Until so many handlers have started. */
  async counted(count: number): Promise<void> {
    if (this.#count < count) await this.#until(() => this.#count >= count);
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  #until(isThere: (message: unknown) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (act: () => void): void => {
        clearTimeout(timer);
        this.#child.off("message", look);
        this.#child.off("exit", fail);
        act();
      };
      const look = (message: unknown): void => {
        if (isThere(message)) finish(resolve);
      };
      const fail = (): void => finish(() => reject(new Error("a consumer process ended, or was too slow")));
      const timer = setTimeout(fail, LONGEST_MS);
      this.#child.on("message", look);
      this.#child.on("exit", fail);
    });
  }
}
