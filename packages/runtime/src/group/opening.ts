import type { GroupRecord, Rheo, Timer } from "@rheo/core";
import {
  BACKOFF_JITTER,
  backoffMs,
  internalsOf,
  isTransient,
  parseNumber,
  type RheoInternals,
  spread,
} from "@rheo/core/internal";
import type { ConsumerDefinition } from "../consumer.ts";
import { type Deferred, deferred } from "../deferred.ts";

export interface Opened {
  readonly group: GroupRecord;
  readonly partitions: number;
}

/** A group's first meeting with the store: creates what it is asked to, and waits, ever longer, while the store is away. */
export class Opening {
  readonly #rheo: Rheo;
  readonly #internals: RheoInternals;
  readonly #consumer: ConsumerDefinition;
  readonly #consumerId: string;
  #wait: { readonly timer: Timer; readonly end: Deferred<void> } | null = null;
  #isCancelled = false;

  constructor(rheo: Rheo, consumer: ConsumerDefinition, consumerId: string) {
    this.#rheo = rheo;
    this.#internals = internalsOf(rheo);
    this.#consumer = consumer;
    this.#consumerId = consumerId;
  }

  /**
   * The group, and how many partitions its stream has; null when cancelled.
   * @param onWait - called when the store is found away
   * @throws stream_not_found, group_not_found, invalid_option - no partition of that number
   */
  async run(onWait: () => void): Promise<Opened | null> {
    for (let failures = 1; !this.#isCancelled; failures++) {
      try {
        return await this.#meet();
      } catch (cause) {
        if (!isTransient(cause)) throw cause;
        onWait();
        await this.#backOff(cause instanceof Error ? cause : new Error(String(cause)), failures);
      }
    }
    return null;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#wait?.timer.cancel();
    this.#wait?.end.resolve();
  }

  async #meet(): Promise<Opened> {
    const { stream, group, createStream, createGroup, partitions } = this.#consumer;
    if (createStream !== null) await this.#rheo.ensureStream(stream, createStream);
    if (createGroup !== null) await this.#rheo.ensureGroup(stream, group, createGroup);
    const record = await this.#internals.group(stream, group);
    const count = await this.#internals.partitionsOf(stream);
    for (const partition of typeof partitions === "string" ? [] : (partitions ?? []))
      parseNumber("partitions", partition, { min: 0, max: count - 1 });
    return { group: record, partitions: count };
  }

  async #backOff(error: Error, failures: number): Promise<void> {
    if (this.#isCancelled) return;
    const { stream, group } = this.#consumer;
    const nextInMs = Math.round(spread(backoffMs(failures), BACKOFF_JITTER, this.#internals.random()));
    this.#internals.emit("fetch.failed", { stream, group, consumerId: this.#consumerId, failures, nextInMs, error });
    const end = deferred();
    this.#wait = { timer: this.#internals.clock.schedule(nextInMs, () => end.resolve()), end };
    await end.promise;
  }
}
