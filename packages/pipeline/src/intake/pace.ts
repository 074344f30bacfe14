import type { Clock, Timer } from "@rheo/core";

/** When the next round trip may be: what a fetch waits for, and how long outcomes wait for others. */
export class Pace {
  readonly #clock: Clock;
  readonly #settleMs: number;
  readonly #onDue: () => void;
  #wait: "none" | "poll" | "backoff" = "none";
  #waitTimer: Timer | null = null;
  #endWait: (() => void) | null = null;
  /** A wake-up came that no fetch has answered. */
  #isWoken = false;
  #settle: "idle" | "armed" | "due" = "idle";
  #settleTimer: Timer | null = null;
  #settleTurn: NodeJS.Immediate | null = null;
  #isStopped = false;

  /**
   * @param settleMs - outcomes wait at most this long for others to share the round trip; 0: for those of the same turn alone
   * @param onDue - called when something may be done that had to wait
   */
  constructor(clock: Clock, settleMs: number, onDue: () => void) {
    this.#clock = clock;
    this.#settleMs = settleMs;
    this.#onDue = onDue;
  }

  /** What the next fetch waits for; `backoff` holds settlements, too. */
  get wait(): "none" | "poll" | "backoff" {
    return this.#wait;
  }

  /** Outcomes have waited long enough for others. */
  get isSettleDue(): boolean {
    return this.#settle === "due";
  }

  /** Outcomes wait for others, from the first of them on. */
  settleSoon(): void {
    if (this.#settle !== "idle" || this.#isStopped) return;
    this.#settle = "armed";
    const due = (): void => {
      this.#settle = "due";
      this.#onDue();
    };
    if (this.#settleMs === 0) this.#settleTurn = setImmediate(due);
    else this.#settleTimer = this.#clock.schedule(this.#settleMs, due);
  }

  /** A round trip begins, which takes all outcomes. */
  begin(isFetch: boolean): void {
    this.#disarmSettle();
    if (isFetch) this.#isWoken = false;
  }

  /** A fetch has ended. If there is no more, the next one waits for a poll, unless a wake-up came meanwhile, when it may have looked too early. */
  fetched(isMore: boolean, pollMs: number): void {
    if (!isMore && !this.#isWoken) return void this.#waitFor("poll", pollMs);
    this.#isWoken = false;
    if (this.#wait === "poll") this.#end();
  }

  /** Nothing more for so long. Resolves when that is over. */
  backOff(ms: number): Promise<void> {
    return this.#waitFor("backoff", ms);
  }

  /** Something may be there to fetch. Never shortens a back-off. */
  wake(): void {
    if (this.#wait !== "poll") {
      this.#isWoken = true;
      return;
    }
    this.#end();
    this.#onDue();
  }

  /** Lets go of all timers, for good. */
  stop(): void {
    this.#isStopped = true;
    this.#end();
    this.#disarmSettle();
  }

  #waitFor(what: "poll" | "backoff", ms: number): Promise<void> {
    this.#end();
    if (this.#isStopped) return Promise.resolve();
    this.#wait = what;
    return new Promise((resolve) => {
      this.#endWait = resolve;
      this.#waitTimer = this.#clock.schedule(ms, () => {
        this.#end();
        this.#onDue();
      });
    });
  }

  #end(): void {
    this.#waitTimer?.cancel();
    this.#wait = "none";
    this.#endWait?.();
    this.#endWait = null;
  }

  #disarmSettle(): void {
    this.#settleTimer?.cancel();
    if (this.#settleTurn !== null) clearImmediate(this.#settleTurn);
    this.#settle = "idle";
  }
}
