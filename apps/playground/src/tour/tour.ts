import { FrozenClock, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import type { TourNumbersView, TourSeenView, TourView } from "../views.ts";
import { GROUP, type Scene, type Seen, STREAM, type TourStep } from "./step.ts";
import { STEPS } from "./steps.ts";

/**
 * Kill before ack, a step at a time: in a store in memory whose clock stands still until a step moves it, so that thirty seconds take
 * none. Its members are names here, not processes, as their death is that they do nothing more.
 */
export class Tour implements AsyncDisposable {
  #scene: Scene;
  readonly #startMs: number;
  #seen: TourSeenView[] = [];
  #round = 1;
  /** One at a time, however fast somebody clicks. */
  #turn: Promise<void> = Promise.resolve();

  private constructor(scene: Scene) {
    this.#scene = scene;
    this.#startMs = scene.clock.now();
  }

  static async open(): Promise<Tour> {
    return new Tour(await openScene());
  }

  get view(): TourView {
    const steps = STEPS.map(({ title, expect }, at) => ({ title, expect, seen: this.#seen[at] ?? null }));
    return { round: this.#round, steps, done: this.#seen.length, ok: this.#seen.every(({ ok }) => ok) };
  }

  /** Carries out the next step; nothing after the last, or after one that was not as expected. */
  next(): Promise<void> {
    return this.#inTurn(async () => {
      const step = STEPS[this.#seen.length];
      if (step !== undefined && this.view.ok) this.#seen.push(await this.#carryOut(step));
    });
  }

  restart(): Promise<void> {
    return this.#inTurn(async () => {
      const scene = await openScene();
      await this.#scene.rheo.close();
      this.#scene = scene;
      this.#seen = [];
      this.#round += 1;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inTurn(() => this.#scene.rheo.close());
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const acted = this.#turn.then(act);
    this.#turn = acted.catch(() => undefined); // whoever asked is told
    return acted;
  }

  async #carryOut({ run }: TourStep): Promise<TourSeenView> {
    const { detail, checks } = await run(this.#scene).catch(failure);
    const checked = Object.entries(checks).map(([what, ok]) => ({ what, ok }));
    return { detail, checks: checked, ok: checked.every(({ ok }) => ok), numbers: await this.#numbers() };
  }

  async #numbers(): Promise<TourNumbersView> {
    const { rheo, clock } = this.#scene;
    const { lag, inflight } = await rheo.groupInfo(STREAM, GROUP);
    const { partitions } = await rheo.lag(STREAM, GROUP);
    return { seconds: (clock.now() - this.#startMs) / 1_000, lag, inflight, frontier: partitions[0]?.frontier ?? 0 };
  }
}

const openScene = async (): Promise<Scene> => {
  const clock = new FrozenClock();
  return { rheo: await Rheo.open({ backend: memory(), name: "tour", clock }), clock, events: [], lost: null, again: null };
};

/** A step that throws has failed: with what it threw in place of what it saw. */
const failure = (error: unknown): Seen => ({
  detail: error instanceof Error ? error.message : String(error),
  checks: { "the step can be carried out": false },
});
