import { type Clock, Rheo, RheoError, type Timer } from "@rheo/core";
import { backoffMs, failureText, internalsOf, isTransient, systemClock } from "@rheo/core/internal";
import { type Deferred, deferred } from "../deferred.ts";
import { type Supervisor, supervise } from "../supervise.ts";
import type { ChildInfo } from "../supervisor/child.ts";
import { waitAtMost } from "../time-limit.ts";
import type { AppConfig, Observer } from "./config.ts";

export interface AppOptions {
  readonly config: AppConfig;
  /** A store URL that takes the place of the config's, or null. */
  readonly store: string | null;
  /** A store URL for when there is no other, or null. */
  readonly fallbackStore: string | null;
  /** Other processes run the same config. */
  readonly isShared: boolean;
  readonly host: AppHost;
}

/** What the owner of an app is told. */
export interface AppHost {
  /** The store is open. */
  opened(rheo: Rheo): void;
  /** The store cannot be reached; another try follows. */
  waiting(error: Error, nextInMs: number): void;
  /** Every consumer runs. Told once. */
  ready(): void;
}

/** On closing a store, which waits for appends that are under way; and on closing an observer. */
const CLOSE_MS = 5_000;

/** A config at work in this process: the store and the tree of its consumers. */
export class App {
  readonly #options: AppOptions;
  readonly #clock: Clock = systemClock;
  readonly #failure: Deferred<Error> = deferred<Error>();
  #rheo: Rheo | null = null;
  #supervisor: Supervisor | null = null;
  #observer: Observer | null = null;
  #starting: Promise<void> = Promise.resolve();
  #wait: { readonly timer: Timer; readonly end: Deferred<void> } | null = null;
  #isReady = false;
  /** When handlers are aborted; Infinity while nobody wants it to end. */
  #deadlineMs = Number.POSITIVE_INFINITY;
  #closing: Promise<void> | null = null;

  constructor(options: AppOptions) {
    this.#options = options;
  }

  /** Resolves when a consumer is given up; stays pending otherwise. */
  get failure(): Promise<Error> {
    return this.#failure.promise;
  }

  children(): ChildInfo[] {
    return this.#supervisor?.children() ?? [];
  }

  /**
   * Opens the store, waiting for it while it is away, and starts the consumers.
   * @throws invalid_option, invalid_name, unsupported - the config cannot be run
   */
  start(): Promise<void> {
    this.#starting = this.#start();
    return this.#starting;
  }

  /**
   * Drains, then lets go of everything; also while it starts. A later call can only shorten the time. Whether all ended by itself:
   * false when handlers had to be aborted.
   */
  async end(timeoutMs: number): Promise<boolean> {
    this.#deadlineMs = Math.min(this.#deadlineMs, this.#clock.monotonic() + timeoutMs);
    this.#wait?.timer.cancel();
    this.#wait?.end.resolve();
    const isComplete = this.#supervisor === null ? await this.#endStart(timeoutMs) : await this.#drain(this.#supervisor);
    this.#closing ??= this.#close();
    await this.#closing;
    return isComplete;
  }

  async #drain(supervisor: Supervisor): Promise<boolean> {
    await supervisor.drain({ timeoutMs: Math.max(0, Math.ceil(this.#deadlineMs - this.#clock.monotonic())) });
    return this.#clock.monotonic() < this.#deadlineMs;
  }

  /** What is told to end while it starts has nothing to finish; what it may have begun it gives back by itself. */
  async #endStart(timeoutMs: number): Promise<boolean> {
    const started = this.#starting.catch(() => undefined);
    return await waitAtMost(this.#clock, timeoutMs, started);
  }

  async #start(): Promise<void> {
    const rheo = await this.#openPatiently();
    if (rheo === null) return;
    this.#rheo = rheo;
    this.#checkShared(rheo);
    this.#options.host.opened(rheo);
    if (this.#isEnding()) return;
    const { store: _, observe, ...options } = this.#options.config;
    if (observe !== undefined) await this.#guarded(async () => (this.#observer = (await observe(rheo)) ?? null));
    rheo.events.on("consumer.started", () => setImmediate(() => this.#checkReady()));
    const supervisor = await supervise({ ...options, rheo });
    this.#supervisor = supervisor;
    if (this.#isEnding()) return await supervisor.stop({ timeoutMs: 0 });
    void supervisor.failure.then((error) => this.#failure.resolve(error));
    await this.#guarded(() => this.#observer?.watch?.(supervisor));
    this.#checkReady();
  }

  #isEnding(): boolean {
    return this.#deadlineMs !== Number.POSITIVE_INFINITY;
  }

  /** Null when it was told to end meanwhile. */
  async #openPatiently(): Promise<Rheo | null> {
    for (let failures = 1; !this.#isEnding(); failures++) {
      try {
        return await this.#open();
      } catch (cause) {
        if (!isTransient(cause)) throw cause;
        await this.#backOff(cause instanceof Error ? cause : new Error(String(cause)), failures);
      }
    }
    return null;
  }

  async #open(): Promise<Rheo> {
    const { config, fallbackStore } = this.#options;
    const store = this.#options.store ?? config.store ?? fallbackStore;
    if (store === null)
      throw new RheoError(
        "invalid_option",
        'There is no store: put store: "sqlite:./events.db", or another URL, into the config, pass --store, or set RHEO_STORE.',
        { path: "store" },
      );
    if (typeof store === "string") return await Rheo.open(store);
    const rheo: unknown = await store();
    if (isRheo(rheo)) return rheo;
    throw new RheoError("invalid_option", "store() did not return what Rheo.open(…) of this copy of @rheo/core returns.", {
      path: "store",
    });
  }

  async #backOff(error: Error, failures: number): Promise<void> {
    const nextInMs = Math.round(backoffMs(failures));
    this.#options.host.waiting(error, nextInMs);
    const end = deferred();
    this.#wait = { timer: this.#clock.schedule(nextInMs, () => end.resolve()), end };
    if (this.#isEnding()) end.resolve();
    await end.promise;
  }

  #checkShared({ capabilities }: Rheo): void {
    if (!this.#options.isShared || capabilities.distributed) return;
    throw new RheoError(
      "invalid_option",
      "This store belongs to one process. Run it with --processes 1, or choose one that processes share, such as sqlite:./events.db.",
      { path: "store" },
    );
  }

  #checkReady(): void {
    if (this.#isReady || this.#isEnding() || this.#supervisor === null) return;
    const groups = this.children().filter(({ kind }) => kind === "group");
    if (!groups.every(({ state }) => state === "running" || state === "paused")) return;
    this.#isReady = true;
    this.#options.host.ready();
  }

  /** Whoever looks on disturbs nothing. */
  async #guarded(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (cause) {
      process.emitWarning(
        `The observer of the config failed: ${failureText(cause, "it threw nothing readable").reason}`,
        "RheoWarning",
      );
    }
  }

  async #close(): Promise<void> {
    await this.#supervisor?.stop({ timeoutMs: 0 });
    await waitAtMost(
      this.#clock,
      CLOSE_MS,
      this.#guarded(() => this.#observer?.close?.()),
    );
    if (this.#rheo !== null) await waitAtMost(this.#clock, CLOSE_MS, this.#rheo.close()).catch(() => undefined);
  }
}

const isRheo = (value: unknown): value is Rheo => {
  try {
    return typeof value === "object" && value !== null && internalsOf(value) !== undefined;
  } catch {
    return false;
  }
};

/** Whether an error says that the config or the command line has to be changed, so that trying again is of no use. */
export const isUsageError = (cause: unknown): cause is RheoError =>
  RheoError.is(cause, "invalid_option") || RheoError.is(cause, "invalid_name") || RheoError.is(cause, "unsupported");
