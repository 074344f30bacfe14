/** Hints that there may be something to fetch: to listeners of this process at once, to others by PUBLISH. Polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { WakeListeners } from "@rheo/core/internal";

/** A process publishes at most once in this time, in ms, whatever it appends. */
const PUBLISH_EVERY_MS = 2;
/** Streams named in one message. With more, everybody is woken. */
const NAMES_SENT = 100;

/** The channel of all streams under a prefix. */
export const channelOf = (prefix: string): string => `${prefix}:wake`;

export interface WakeOptions {
  /** Tells this process from others. */
  readonly self: string;
  /** May fail: what is lost is a hint. Null: other processes are not told. */
  readonly publish: ((message: string) => Promise<unknown>) | null;
}

export class Wake {
  readonly #options: WakeOptions;
  readonly #listeners = new WakeListeners();
  readonly #unsent = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<unknown> | null = null;

  constructor(options: WakeOptions) {
    this.#options = options;
  }

  subscribe(listener: WakeListener): () => void {
    return this.#listeners.add(listener);
  }

  /** The message with which a change of a stream, about to be made, may tell others itself. Null: it may not, as another was sent a moment ago. */
  carry(stream: string): string | null {
    if (this.#options.publish === null || this.#timer !== null || this.#sending !== null) return null;
    this.#rest();
    return this.#messageOf([stream]);
  }

  /** Something of a stream changed: tells listeners here and elsewhere. */
  tell(stream: string): void {
    this.hear(stream);
    this.spread(stream);
  }

  /** Tells listeners elsewhere. */
  spread(stream: string): void {
    if (this.#options.publish === null) return;
    this.#unsent.add(stream);
    this.#arm();
  }

  /** A message of some process: who sent it, and names of streams; none means any. */
  receive(message: string): void {
    const [sender, names = ""] = message.split(":", 2);
    if (sender === this.#options.self) return;
    for (const name of names.split(",")) this.hear(name === "" ? null : name);
  }

  /** Tells listeners of this process. Null: of any stream. */
  hear(stream: string | null): void {
    this.#listeners.tell(stream);
  }

  /** Drops what is unsent, and waits for what is being sent. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsent.clear();
    await this.#sending;
  }

  #arm(): void {
    if (this.#timer !== null || this.#sending !== null) return;
    this.#rest();
    this.#send(); // the first at once, those that follow closely together
  }

  #rest(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#unsent.size > 0) this.#arm();
    }, PUBLISH_EVERY_MS);
    this.#timer.unref();
  }

  #messageOf(names: readonly string[]): string {
    return `${this.#options.self}:${names.length > NAMES_SENT ? "" : names.join(",")}`;
  }

  #send(): void {
    const message = this.#messageOf([...this.#unsent]);
    this.#unsent.clear();
    const sending = this.#options.publish?.(message) ?? Promise.resolve();
    this.#sending = sending
      .catch(() => undefined)
      .then(() => {
        this.#sending = null;
        if (this.#unsent.size > 0) this.#arm();
      });
  }
}
