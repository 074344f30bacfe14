import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ChildLike } from "@rheo/dashboard";
import type { Saying } from "../narration.ts";
import type { MemberView, Mode } from "../views.ts";
import type { Assignment, ToMember, ToPlayground } from "./messages.ts";

const ENTRY = fileURLToPath(new URL("./member.js", import.meta.url));

export interface MemberHooks {
  said(saying: Saying): void;
  /** Once. `how`: in words. `isStopped`: it ended as it was told to. */
  ended(how: string, isStopped: boolean): void;
}

/** A member process as the playground sees it. */
export class MemberProcess {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #state: MemberView["state"] = "starting";
  #mode: Mode;
  /** What its last word said. */
  #children: readonly ChildLike[] = [];

  constructor(assignment: Assignment, hooks: MemberHooks) {
    this.name = assignment.name;
    this.#mode = assignment.mode;
    this.#process = fork(ENTRY, [assignment.name], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      execArgv: process.execArgv.filter((option) => !option.startsWith("--inspect")), // a port is one process's
    });
    this.#process.on("message", (message) => this.#heard(message as ToPlayground, hooks)); // member.ts sends nothing else
    this.#ended = new Promise((resolve) => {
      const end = (how: string, isStopped: boolean): void => {
        hooks.ended(how, isStopped);
        resolve();
      };
      this.#process.once("exit", (code, signal) =>
        end(signal === null ? `exited with code ${code}` : `was ended by ${signal}`, this.#state === "stopping" && code === 0),
      );
      this.#process.once(
        "error",
        (error) => this.#process.pid === undefined && end(`could not be started: ${error.message}`, false),
      );
    });
    this.#send(assignment);
  }

  /** 0 when it could not be started. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get state(): MemberView["state"] {
    return this.#state;
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** As a part of the supervision tree. */
  get info(): ChildLike {
    const { name: id, pid, state, mode } = this;
    return {
      id,
      kind: "process",
      state,
      restarts: 0,
      lastError: null,
      details: { pid, mode: mode.kind },
      children: this.#children,
    };
  }

  work(mode: Mode): void {
    this.#mode = mode;
    this.#send({ type: "mode", mode });
  }

  killThread(): void {
    this.#send({ type: "kill_thread" });
  }

  /** SIGSTOP: nothing of it runs, and its leases run out. */
  freeze(): void {
    this.#state = "frozen";
    this.#process.kill("SIGSTOP");
  }

  /** SIGCONT: it goes on as if nothing had been. */
  thaw(): void {
    this.#state = "running";
    this.#process.kill("SIGCONT");
  }

  /** It drains, and ends. */
  stop(): void {
    this.#process.kill("SIGCONT"); // one that is frozen could not hear it
    this.#state = "stopping";
    this.#send({ type: "stop" });
  }

  /** SIGKILL, which also ends what is frozen: no handler runs, nothing is flushed, nobody is told. Resolves once it has ended. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#ended;
  }

  #heard(message: ToPlayground, hooks: MemberHooks): void {
    switch (message.type) {
      case "ready":
        if (this.#state === "starting") this.#state = "running";
        return;
      case "said":
        return hooks.said(message.saying);
      case "tree":
        this.#children = message.children;
        return;
      default:
        return message satisfies never;
    }
  }

  #send(message: ToMember): void {
    if (this.#process.connected) this.#process.send(message, () => undefined); // a send that fails is followed by the end of the process
  }
}
