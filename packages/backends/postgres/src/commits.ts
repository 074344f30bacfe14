/** Waiting for transactions of users to commit, so that what they appended or settled is told of after, and never from inside them. */

/** Transactions waited for; beyond that a hint is dropped. */
const KEPT = 1_000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 200;
/** A transaction that is open longer is left to polling. */
const GIVE_UP_MS = 60_000;

interface Awaited {
  readonly transaction: string;
  readonly stream: string;
  readonly streamId: number;
  readonly sinceMs: number;
}

export class Commits {
  readonly #statusOf: (transactions: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly #tell: (stream: string, id: number) => void;
  #awaited: Awaited[] = [];
  #timer: NodeJS.Timeout | null = null;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(
    statusOf: (transactions: readonly string[]) => Promise<ReadonlyMap<string, string>>,
    tell: (stream: string, id: number) => void,
  ) {
    this.#statusOf = statusOf;
    this.#tell = tell;
  }

  add(transaction: string, stream: string, streamId: number): void {
    if (this.#awaited.length >= KEPT) return;
    this.#awaited.push({ transaction, stream, streamId, sinceMs: performance.now() });
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#arm();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#awaited = [];
  }

  #arm(): void {
    if (this.#timer !== null || this.#awaited.length === 0) return;
    this.#timer = setTimeout(() => void this.#look(), this.#pauseMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const asked = this.#awaited;
    const statuses = await this.#statusOf([...new Set(asked.map(({ transaction }) => transaction))]).catch(
      () => new Map<string, string>(),
    );
    this.#timer = null;
    const nowMs = performance.now();
    this.#awaited = this.#awaited.filter(
      (one) => !asked.includes(one) || (statuses.get(one.transaction) === "in progress" && nowMs - one.sinceMs < GIVE_UP_MS),
    );
    for (const { transaction, stream, streamId } of asked)
      if (statuses.get(transaction) === "committed") this.#tell(stream, streamId);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    this.#arm();
  }
}
