/** Member processes as the parent sees them: started, asked, killed for real, and none left behind. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Lease } from "@rheo/core";
import type { AckAnswer, Answer, Command, GroupName, Request } from "./messages.ts";
import type { KillPoint } from "./points.ts";

/** Longer than any answer takes, process start on a busy machine included, in ms. */
const ANSWER_MS = 20_000;

const ENTRY = fileURLToPath(new URL("./member.js", import.meta.url));

/** One member process. Asked one thing at a time. */
export class Member {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #nowMs: () => number | null;

  constructor(name: string, nowMs: () => number | null) {
    this.name = name;
    this.#nowMs = nowMs;
    this.#child = fork(ENTRY, [], { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#ended = new Promise((resolve) => this.#child.once("exit", () => resolve()).once("error", () => resolve()));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Name and process, for people. */
  get label(): string {
    return `${this.name} (pid ${this.pid})`;
  }

  async open(url: string): Promise<void> {
    await this.#ask({ kind: "open", url, consumerId: this.name }, "ready");
  }

  /** Lets the member fetch and work on one event; resolves when it stands at `haltAt`. */
  async consumeUntil(haltAt: KillPoint, names: GroupName): Promise<Lease> {
    return (await this.#ask({ kind: "consume", haltAt, ...names }, "reached")).lease;
  }

  async fetch(limit: number, { stream, group }: GroupName): Promise<readonly Lease[]> {
    return (await this.#ask({ kind: "fetch", limit, stream, group }, "leased")).leases;
  }

  async ack(lease: Lease): Promise<AckAnswer> {
    return await this.#ask({ kind: "ack", lease }, "acked", "refused");
  }

  /** SIGKILL: no handler runs, nothing is flushed, nobody is told. Resolves with what ended the process, once it has. */
  async kill(): Promise<NodeJS.Signals | null> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    return this.#child.signalCode;
  }

  async #ask<Kind extends Answer["kind"]>(command: Command, ...kinds: readonly Kind[]): Promise<Extract<Answer, { kind: Kind }>> {
    const request: Request = { ...command, nowMs: this.#nowMs() };
    const answer = await this.#answerTo(request);
    const isExpected = (given: Answer): given is Extract<Answer, { kind: Kind }> => kinds.some((kind) => kind === given.kind);
    if (isExpected(answer)) return answer;
    throw new Error(`${this.label} could not ${command.kind}: ${answer.kind === "failed" ? answer.message : answer.kind}`);
  }

  /** @throws when the process ends, or stays silent, instead of answering */
  #answerTo(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#child.off("message", onMessage);
        act();
      };
      const onMessage = (message: unknown): void => settle(() => resolve(message as Answer)); // member.ts sends nothing else
      void this.#ended.then(() =>
        settle(() => reject(new Error(`${this.label} ended (${this.#end()}) before it could ${request.kind}.`))),
      );
      const timer = setTimeout(
        () => settle(() => reject(new Error(`${this.label} did not ${request.kind} in time.`))),
        ANSWER_MS,
      );
      this.#child.once("message", onMessage);
      if (this.#child.connected) this.#child.send(request, () => {}); // a send that fails is followed by the end of the process
    });
  }

  #end(): string {
    return this.#child.signalCode ?? `exit code ${this.#child.exitCode ?? "unknown"}`;
  }
}

/** The processes of one story. Disposing of it, or the signal, kills those that are left. */
export class Members implements AsyncDisposable {
  readonly #url: string;
  readonly #nowMs: () => number | null;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => void this.#killAll();
  readonly #all: Member[] = [];

  constructor(url: string, nowMs: () => number | null, signal: AbortSignal) {
    this.#url = url;
    this.#nowMs = nowMs;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  async start(name: string): Promise<Member> {
    this.#signal.throwIfAborted();
    const member = new Member(name, this.#nowMs);
    this.#all.push(member);
    await member.open(this.#url);
    return member;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#onAbort);
    await this.#killAll();
  }

  async #killAll(): Promise<void> {
    await Promise.all(this.#all.map((member) => member.kill()));
  }
}
