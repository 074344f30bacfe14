import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Backend, type BackendContext, type Clock, RheoError } from "@rheo/core";
import { overlay } from "../overlay.ts";
import type { Answer, Factory, Request } from "./protocol.ts";

const CHILD = new URL("./child.js", import.meta.url);

const METHODS = [
  "close",
  "ping",
  "migrate",
  "createStream",
  "getStream",
  "listStreams",
  "deleteStream",
  "watermarks",
  "append",
  "read",
  "readIds",
  "search",
  "createIndex",
  "dropIndex",
  "listIndexes",
  "trim",
  "createGroup",
  "getGroup",
  "listGroups",
  "updateGroup",
  "deleteGroup",
  "exchange",
  "renew",
  "replay",
  "reset",
  "redrive",
  "progress",
  "groupStats",
  "holders",
  "leases",
  "deadLetters",
  "delivery",
] as const satisfies readonly (keyof Backend)[];

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Backends that live in another process, so that a store is tested as it is shared: each call of the port is one message. Wake-ups
 * do not cross (they are hints), nor do the caller's transactions. The injected clock does: each call carries its time.
 */
export class OtherProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #ids = 0;
  #backends = 0;

  /** Starts it and waits until it is ready. */
  static async start(factory: Factory): Promise<OtherProcess> {
    const child = fork(fileURLToPath(CHILD), [JSON.stringify(factory)], { serialization: "advanced", execArgv: [] });
    const [first] = await Promise.race([once(child, "message"), once(child, "exit").then(() => [null])]);
    if (first === null) throw new Error(`The process for ${factory.module} ended before it was ready.`);
    return new OtherProcess(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (answer: Answer) => this.#answered(answer));
    child.on("exit", () => this.#ended());
  }

  /** A backend made there with `options`. `like` is one made here with the same, for its name and capabilities; it is not opened. */
  backend(options: unknown, like: Backend): Backend {
    const backend = ++this.#backends;
    let clock: Clock | null = null;
    const made = this.#send({ kind: "make", id: ++this.#ids, backend, options });
    made.catch(() => undefined);
    const call = async (method: string, args: readonly unknown[]): Promise<unknown> => {
      await made;
      return this.#send({ kind: "call", id: ++this.#ids, backend, method, args, nowMs: clock?.now() ?? 0 });
    };
    const changes: Record<string, unknown> = {
      open: async (context: BackendContext) => {
        clock = context.clock;
        await call("open", [clock !== null, context.migrate]);
      },
      subscribe: () => () => undefined,
    };
    for (const method of METHODS) {
      if (like[method] !== undefined) changes[method] = (...args: readonly unknown[]) => call(method, args.map(plain));
    }
    return overlay(like, changes as Partial<Backend>); // the names above are those of the port
  }

  /** Ends the process and waits for its end. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  #send(request: Request): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#child.send(request, (error) => {
        if (error !== null)
          this.#answered({
            id: request.id,
            kind: "error",
            message: error.message,
            code: "unavailable",
            details: {},
            cause: null,
          });
      });
    });
  }

  #answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.kind === "value") waiting?.resolve(answer.value);
    else waiting?.reject(toError(answer));
  }

  #ended(): void {
    for (const id of [...this.#waiting.keys()]) {
      this.#answered({
        id,
        kind: "error",
        message: "The other process ended before it answered.",
        code: "outcome_unknown",
        details: {},
        cause: null,
      });
    }
  }
}

const toError = ({ code, message, details, cause }: Extract<Answer, { kind: "error" }>): Error =>
  code === null ? new Error(message) : new RheoError(code, message, details, cause === null ? {} : { cause: new Error(cause) });

/** What a message can carry: a signal or the like is left behind. */
const plain = (value: unknown): unknown => (typeof value === "function" ? null : value);
