import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ServerPlace } from "./systems.ts";

const MODULE = fileURLToPath(new URL("processes/member.js", import.meta.url));
/** A process that takes longer for what is waited for is broken, in ms. */
const LONGEST_MS = 60_000;

/** A consumer in a process of its own. */
export class Member {
  readonly #child: ChildProcess;
  #started = 0;

  /** `manner`: what its handlers do. Resolves once it consumes. */
  static async start({ storeUrl }: ServerPlace, manner: "hold" | "ack"): Promise<Member> {
    const member = new Member(fork(MODULE, [storeUrl, manner]));
    await member.#until((message) => message === "ready");
    return member;
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (message) => {
      if (message === "started") this.#started++;
    });
  }

  /** Until so many handlers have started. */
  async started(count: number): Promise<void> {
    if (this.#started < count) await this.#until(() => this.#started >= count);
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
