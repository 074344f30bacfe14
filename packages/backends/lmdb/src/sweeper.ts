/** Removes the events of deleted streams in short steps, between which others get their turn. */
import type { Session, Unit } from "./session.ts";
import { eventsKey } from "./tables/events.ts";
import { idsKey } from "./tables/ids.ts";
import { anyLeftover, removeLeftover } from "./tables/leftovers.ts";

/** Entries removed in one step: a few ms. */
const STEP = 1_000;

export class Sweeper {
  readonly #session: Session;
  #sweeping = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Goes to work, if it does not already. What it cannot finish now it goes on with when the store is opened again. */
  start(): void {
    if (this.#sweeping) return;
    this.#sweeping = true;
    this.#sweep().then(
      () => this.#stop(),
      () => this.#stop(),
    );
  }

  #stop(): void {
    this.#sweeping = false;
  }

  async #sweep(): Promise<void> {
    while (await this.#session.write(sweepStep)) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Whether there is more. */
const sweepStep = ({ environment }: Unit): boolean => {
  const streamId = anyLeftover(environment);
  if (streamId === null) return false;
  const events = environment.removeSome(eventsKey(streamId), STEP);
  const ids = environment.removeSome(idsKey(streamId), STEP - events);
  if (events + ids < STEP) removeLeftover(environment, streamId);
  return true;
};
