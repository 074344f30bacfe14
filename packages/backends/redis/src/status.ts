/** Whether a client has its connection, and waiting until it has. */
import type { Client } from "./client.ts";
import { ended, isLasting, noConnection, unavailable } from "./errors.ts";

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Errors for which waiting longer is of no use. */
  readonly isFinal: (error: unknown) => boolean;
}

export class Status {
  readonly #client: Client;
  readonly #onLost: () => void;
  readonly #waiters = new Set<Waiter>();
  #error: unknown = null;
  #isRenewing = false;

  /** `onLost` is called when the connection is gone; on a Cluster, when all are. */
  constructor(client: Client, onLost: () => void) {
    this.#client = client;
    this.#onLost = onLost;
    for (const [event, listener] of this.#listeners) client.on(event, listener);
  }

  get isReady(): boolean {
    return this.#client.status === "ready" && !this.#isRenewing;
  }

  /** Waits for the connection until `performance.now()` is `endMs`. @throws unavailable - then, or at once after an error that is final */
  async ready(endMs: number, isFinal: (error: unknown) => boolean): Promise<void> {
    if (this.isReady) return;
    if (this.#client.status === "end") throw ended();
    await new Promise<void>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        isFinal,
        resolve: () => {
          settle();
          resolve();
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const leftMs = Math.max(0, Math.ceil(endMs - performance.now()));
      const timer = setTimeout(() => waiter.reject(noConnection(leftMs, this.#error)), leftMs);
      this.#waiters.add(waiter);
      // one that the user has not connected yet either
      if (this.#client.status === "wait") this.#client.connect().catch(() => undefined);
    });
  }

  /** Nothing is sent any more until there is a new connection; `reconnect` makes it. */
  renew(): void {
    this.#isRenewing = true;
  }

  reconnect(): void {
    if (this.#isRenewing && this.#client.status === "ready") this.#client.disconnect(true);
  }

  /** Leaves the client alone. */
  stop(): void {
    for (const [event, listener] of this.#listeners) this.#client.removeListener(event, listener);
    for (const waiter of [...this.#waiters]) waiter.reject(ended());
  }

  readonly #listeners: readonly (readonly [string, (error: unknown) => void])[] = [
    [
      "ready",
      () => {
        this.#isRenewing = false;
        this.#error = null;
        for (const { resolve } of [...this.#waiters]) resolve();
      },
    ],
    ["close", () => this.#onLost()],
    [
      "end",
      () => {
        for (const { reject } of [...this.#waiters]) reject(ended());
      },
    ],
    ["error", (error) => this.#hear(error, (waiter) => waiter.isFinal(error))],
    // of one node of a Cluster, where another may do
    ["node error", (error) => this.#hear(error, () => isLasting(error))],
  ];

  /** Without a listener the driver would print it. */
  #hear(error: unknown, endsWait: (waiter: Waiter) => boolean): void {
    // that of a whole Cluster says less than the last of its nodes did
    this.#error = (error instanceof Error && "lastNodeError" in error && error.lastNodeError) || error;
    for (const waiter of [...this.#waiters]) if (endsWait(waiter)) waiter.reject(unavailable(this.#error));
  }
}
