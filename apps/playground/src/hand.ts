/** A lease taken by hand, without any runtime: fetched, left to run out, and acked when somebody else has the event. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Lease, RheoError } from "@rheo/core";
import type { Saying } from "./narration.ts";
import type { Publisher } from "./publisher.ts";
import type { Stage } from "./stage.ts";
import type { AnswerView, HandView } from "./views.ts";

const NAME = "by-hand";
/** Members may be quicker at an event that was published for the hand; it is tried so often. */
const TRIES = 25;
const LOOK_MS = 200;

interface Held {
  readonly lease: Lease;
  phase: HandView["phase"];
  answer: AnswerView | null;
}

export class Hand implements Disposable {
  readonly #stage: Stage;
  readonly #publisher: Publisher;
  readonly #say: (saying: Saying) => void;
  readonly #closing = new AbortController();
  #held: Held | null = null;
  #isTaking = false;

  constructor(stage: Stage, publisher: Publisher, say: (saying: Saying) => void) {
    this.#stage = stage;
    this.#publisher = publisher;
    this.#say = say;
  }

  get view(): HandView | null {
    if (this.#held === null) return null;
    const { lease, phase, answer } = this.#held;
    const leftMs = phase === "held" ? Math.max(0, lease.expiresAt.getTime() - Date.now()) : 0;
    return { place: placeOf(lease), token: lease.token, phase, leftMs, answer };
  }

  /** Takes one lease, and follows it until somebody else has claimed the event: then it acks. Nothing while it holds one. */
  async take(): Promise<void> {
    if (this.#isTaking || (this.#held !== null && this.#held.answer === null)) return;
    this.#isTaking = true;
    try {
      const lease = await this.#fetch();
      if (lease === null)
        return this.#say({
          tone: "warn",
          text: "by hand: got nothing, as members were quicker each time: make one slow, or stop one",
        });
      this.#held = { lease, phase: "held", answer: null };
      this.#say({ tone: "info", text: `by hand: holds ${placeOf(lease)}, token ${lease.token}, and does not ack it` });
      this.#follow(this.#held).catch((error: unknown) => this.#tellFailure(error));
    } finally {
      this.#isTaking = false;
    }
  }

  /** Acks what is held, whatever has become of it; once. */
  async ack(): Promise<void> {
    const held = this.#held;
    if (held === null || isAnswered(held)) return;
    held.phase = "answered";
    this.#say({ tone: "info", text: `by hand: acks ${placeOf(held.lease)} with token ${held.lease.token}` });
    try {
      held.answer = await this.#answer(held.lease);
    } finally {
      if (held.answer === null) this.#held = null; // no answer to show: whoever asked is told why
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #fetch(): Promise<Lease | null> {
    const { rheo, stream, group } = this.#stage;
    for (let left = TRIES; left > 0; left -= 1) {
      await this.#publisher.publish(1, "none");
      const [lease] = await rheo.fetch(stream, group, { consumerId: NAME, limit: 1 });
      if (lease !== undefined) return lease;
    }
    return null;
  }

  async #follow(held: Held): Promise<void> {
    const { signal } = this.#closing;
    while (!isAnswered(held)) {
      const phase = await this.#phaseOf(held.lease);
      if (isAnswered(held)) return;
      held.phase = phase;
      if (phase === "taken over") return await this.ack();
      await sleep(LOOK_MS, undefined, { signal });
    }
  }

  async #phaseOf({ event, attempt }: Lease): Promise<HandView["phase"]> {
    const { rheo, stream, group } = this.#stage;
    const history = await rheo.eventHistory(stream, event.id);
    const delivery = history?.groups.find((standing) => standing.group === group);
    if (delivery === undefined || delivery.state !== "leased" || delivery.attempt > attempt) return "taken over";
    return delivery.expired ? "run out" : "held";
  }

  async #answer(lease: Lease): Promise<AnswerView> {
    try {
      await this.#stage.rheo.ack(lease);
      return { accepted: true, text: "accepted, as nobody has claimed it since" };
    } catch (error) {
      if (!RheoError.is(error, "stale_lease")) throw error;
      return { accepted: false, text: `refused, ${error.code} (${error.details.why}): ${error.message}` };
    }
  }

  #tellFailure(error: unknown): void {
    if (!this.#closing.signal.aborted)
      this.#say({ tone: "bad", text: `by hand: failed: ${error instanceof Error ? error.message : String(error)}` });
  }
}

/** Or about to be. */
const isAnswered = ({ phase }: Held): boolean => phase === "answered";

const placeOf = ({ partition, sequence }: Lease): string => `${partition}@${sequence}`;
