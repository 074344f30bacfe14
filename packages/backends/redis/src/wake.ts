/** Hints that there may be something to fetch: to listeners of this process at once, to others by PUBLISH. Polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { SpacedSending, WakeListeners } from "@rheo/core/internal";

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
  readonly #self: string;
  readonly #listeners = new WakeListeners();
  /** Null: other processes are not told. */
  readonly #others: SpacedSending<string> | null;

  constructor({ self, publish }: WakeOptions) {
    this.#self = self;
    this.#others =
      publish === null
        ? null
        : new SpacedSending({ send: (names) => publish(this.#messageOf(names)), everyMs: PUBLISH_EVERY_MS });
  }

  subscribe(listener: WakeListener): () => void {
    return this.#listeners.add(listener);
  }

  /** The message with which a change of a stream, about to be made, may tell others itself. Null: it may not, as another was sent a moment ago. */
  carry(stream: string): string | null {
    return this.#others?.mayCarry() === true ? this.#messageOf([stream]) : null;
  }

  /** Something of a stream changed: tells listeners here and elsewhere. */
  tell(stream: string): void {
    this.hear(stream);
    this.spread(stream);
  }

  /** Tells listeners elsewhere. */
  spread(stream: string): void {
    this.#others?.add(stream);
  }

  /** A message of some process: who sent it, and names of streams; none means any. */
  receive(message: string): void {
    const [sender, names = ""] = message.split(":", 2);
    if (sender === this.#self) return;
    for (const name of names.split(",")) this.hear(name === "" ? null : name);
  }

  /** Tells listeners of this process. Null: of any stream. */
  hear(stream: string | null): void {
    this.#listeners.tell(stream);
  }

  /** Drops what is unsent, and waits for what is being sent. */
  async stop(): Promise<void> {
    await this.#others?.stop();
  }

  #messageOf(names: readonly string[]): string {
    return `${this.#self}:${names.length > NAMES_SENT ? "" : names.join(",")}`;
  }
}
