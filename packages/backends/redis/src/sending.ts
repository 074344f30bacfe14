/** One command on its way: whether it has been sent, and that it is sent once at most. */
import { Command } from "ioredis";
import { isRefusal } from "./errors.ts";

/** In place of a command that must not be sent (again), so that the answers after it still belong to their commands. */
const PING = "*1\r\n$4\r\nPING\r\n";

export interface SendingOptions {
  /** The only connection on which the command makes sense; null: none does. */
  readonly socket: object | null;
}

/**
 * A driver that loses its connection sends again what was not answered, or keeps it for later. Neither may happen to a script that
 * writes, so the command itself refuses: once it is sent it can only be answered or lost, and once its caller has been told it is not
 * sent any more. A refusal by the server, such as MOVED, takes the sending back.
 */
export class Sending extends Command {
  #state: "waiting" | "sent" | "over" = "waiting";
  #socket: object | null = null;
  readonly #options: SendingOptions | undefined;
  readonly #lost: (error: Error) => void;

  constructor(name: string, args: readonly (string | number | Buffer)[], options?: SendingOptions) {
    super(name, [...args], { replyEncoding: "utf8" });
    this.#options = options;
    this.#lost = this.reject;
  }

  get wasSent(): boolean {
    return this.#socket !== null;
  }

  /** The connection on which it was sent last. */
  get socket(): object | null {
    return this.#socket;
  }

  override toWritable(socket: object): string | Buffer {
    if (this.#state === "waiting" && (this.#options === undefined || this.#options.socket === socket)) {
      this.#state = "sent";
      this.#socket = socket;
      return super.toWritable(socket);
    }
    this.lose(new Error("the connection was lost before the answer came"));
    return PING;
  }

  /** To be called once the driver has it: whatever a cluster client would do about a lost command, it is not done. */
  guard(): void {
    const { reject } = this;
    this.reject = (error) => {
      if (isRefusal(error)) {
        if (this.#state === "sent") this.#state = "waiting";
        this.#socket = null;
        reject.call(this, error);
      } else if (this.#state === "waiting") reject.call(this, error);
      else this.lose(error);
    };
  }

  /** Its caller is told now, and it is not sent any more. */
  lose(error: Error): void {
    this.#state = "over";
    this.#lost.call(this, error);
  }
}
