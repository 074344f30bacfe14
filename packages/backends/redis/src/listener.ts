/** SUBSCRIBE on a connection of its own, made again with growing pauses when it is lost. Each time that it stops or begins to listen, one wake: what is said between is gone. */
import type { Redis } from "ioredis";
import { endClient, pauseMs } from "./client.ts";

/** A connection on which nothing is said is looked after this often, in ms: one that died silently is found and replaced. */
const CHECK_EVERY_MS = 30_000;

export interface ListenerOptions {
  readonly channel: string;
  /** A connection to be used once, which gives up on its own when the server does not answer. Null when none can be made now. */
  readonly connect: () => Redis | null;
  readonly random: () => number;
  readonly onMessage: (message: string) => void;
  /** What is said may be missed, or has been: it does not listen any more, or could not again, or listens anew. */
  readonly onGap: () => void;
}

export class Listener {
  readonly #options: ListenerOptions;
  #client: Redis | null = null;
  #timer: NodeJS.Timeout | null = null;
  #check: NodeJS.Timeout | null = null;
  #attempt = 0;
  #isStopped = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Whether it listens, as far as is known. */
  get hears(): boolean {
    return this.#check !== null;
  }

  start(): void {
    this.#attempt += 1;
    const client = this.#options.connect();
    this.#client = client;
    if (client === null) this.#again();
    else void this.#listen(client);
  }

  /** Resolves once the connection is closed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#client !== null) await this.#end(this.#client);
    this.#client = null;
  }

  async #listen(client: Redis): Promise<void> {
    const { channel, onMessage, onGap } = this.#options;
    // without a listener the driver would print it; that the connection is gone is told by "end"
    client.on("error", () => undefined);
    client.on("end", () => this.#lost(client));
    client.on("message", (_, message: string) => onMessage(message));
    try {
      await client.connect();
      await client.subscribe(channel);
    } catch {
      this.#lost(client);
      return;
    }
    if (this.#isStopped || this.#client !== client) return;
    this.#attempt = 0;
    // it is the driver that gives a connection up which does not answer
    this.#check = setInterval(() => void client.ping().catch(() => undefined), CHECK_EVERY_MS);
    this.#check.unref();
    onGap();
  }

  #lost(client: Redis): void {
    if (this.#client !== client || this.#isStopped) return;
    void this.#end(client);
    this.#options.onGap();
    this.#again();
  }

  #again(): void {
    this.#client = null;
    this.#timer = setTimeout(() => this.start(), pauseMs(Math.max(1, this.#attempt), this.#options.random));
    this.#timer.unref();
  }

  async #end(client: Redis): Promise<void> {
    if (this.#check !== null) clearInterval(this.#check);
    this.#check = null;
    await endClient(client);
  }
}
