/** LISTEN on a connection of its own, made again with growing pauses when it is lost. Each time that it stops or begins to listen, one wake: what is said between is gone. */
import type pg from "pg";
import type { Schema } from "./identifiers.ts";

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 10_000;
/** A connection that nobody uses is looked after this often, in ms: one that died silently is found and replaced. */
const CHECK_EVERY_MS = 30_000;
const CHECK_TIMEOUT_MS = 10_000;

export interface ListenerOptions {
  readonly schema: Schema;
  /** Null when no connection can be made. */
  readonly connect: () => pg.Client | null;
  readonly random: () => number;
  /** The payload of a notification. Whether it is the echo. */
  readonly onMessage: (payload: string) => boolean;
  /** What is said may be missed, or has been: it does not listen any more, or could not again, or listens anew. */
  readonly onGap: () => void;
  /** Has a notification sent over another connection, to be heard on this one. */
  readonly echo: () => Promise<unknown>;
}

export class Listener {
  readonly #options: ListenerOptions;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #check: NodeJS.Timeout | null = null;
  #failures = 0;
  #hears = false;
  #echoing: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #starting: Promise<void> | null = null;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /**
   * Whether notifications are known to come through: the echo did. So the connection is a session of its own. One that a pooler shares takes
   * LISTEN as well, and passes nothing on.
   */
  get hears(): boolean {
    return this.#hears;
  }

  start(): void {
    this.#starting = this.#connect();
  }

  /** Resolves once the connection is closed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#check !== null) clearInterval(this.#check);
    await this.#starting;
    await this.#echoing;
    await this.#client?.end().catch(() => undefined);
    this.#client = null;
  }

  async #connect(): Promise<void> {
    this.#timer = null;
    const { schema, connect, onMessage, onGap, echo } = this.#options;
    const client = connect();
    if (client === null) return;
    // without a listener an error would end the process; both events come when a connection breaks, and one is enough
    client.on("error", () => this.#lost(client));
    client.on("end", () => this.#lost(client));
    client.on("notification", ({ payload }) => {
      if (this.#client !== client) return;
      if (onMessage(payload ?? "")) this.#hears = true;
    });
    this.#client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${schema.quoted}`);
    } catch {
      this.#lost(client);
      return;
    }
    if (this.#isStopped || this.#client !== client) return;
    this.#failures = 0;
    this.#check = setInterval(() => void this.#probe(client), CHECK_EVERY_MS);
    this.#check.unref();
    onGap();
    this.#echoing = echo().catch(() => undefined); // the next look at the connection sends another
  }

  async #probe(client: pg.Client): Promise<void> {
    const timer = setTimeout(() => this.#lost(client), CHECK_TIMEOUT_MS);
    timer.unref();
    try {
      await client.query("SELECT 1");
      if (!this.#hears) this.#echoing = this.#options.echo().catch(() => undefined);
    } catch {
      this.#lost(client);
    } finally {
      clearTimeout(timer);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#hears = false;
    if (this.#check !== null) clearInterval(this.#check);
    client.end().catch(() => undefined);
    if (this.#isStopped) return;
    this.#options.onGap();
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures) * (0.5 + this.#options.random());
    this.#failures = Math.min(this.#failures + 1, 16);
    this.#timer = setTimeout(() => {
      this.#starting = this.#connect();
    }, pauseMs);
    this.#timer.unref();
  }
}
