import type { Clock, Timer } from "@rheo/core";

export interface RateLimitSettings {
  /** Starts per `perMs`, on average; also as many as may come at once after a pause. */
  readonly events: number;
  readonly perMs: number;
}

/** So much work is worth holding under a limit, in ms. */
const WORTH_MS = 1_500;
/** Sums of fractions fall short by a hair, and a token must not be waited for twice. */
const EPSILON = 1e-6;

/** A token bucket: one token for each start. */
export class RateLimit {
  readonly #settings: RateLimitSettings;
  readonly #clock: Clock;
  readonly #onFree: () => void;
  #tokens: number;
  #atMs: number;
  #timer: Timer | null = null;

  /** @param onFree - called when there is a token again, after {@link take} found none */
  constructor(settings: RateLimitSettings, clock: Clock, onFree: () => void) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onFree = onFree;
    this.#tokens = settings.events;
    this.#atMs = clock.monotonic();
  }

  /** Messages that have not begun and are worth holding. */
  get worth(): number {
    const { events, perMs } = this.#settings;
    return Math.max(1, Math.ceil((events * WORTH_MS) / perMs));
  }

  /** Whether one may start; then its token is spent. */
  take(): boolean {
    this.#refill();
    if (this.#tokens + EPSILON < 1) {
      this.#wait();
      return false;
    }
    this.#tokens -= 1;
    return true;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #refill(): void {
    const { events, perMs } = this.#settings;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(events, this.#tokens + (Math.max(0, nowMs - this.#atMs) * events) / perMs);
    this.#atMs = nowMs;
  }

  #wait(): void {
    const { events, perMs } = this.#settings;
    this.#timer ??= this.#clock.schedule(Math.ceil(((1 - this.#tokens) * perMs) / events), () => {
      this.#timer = null;
      this.#onFree();
    });
  }
}
