/** Somebody who pauses, replays, redrives, resets, trims and changes groups while they work. */
import type { Rheo, Timer } from "@rheo/core";
import type { Random } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import type { GroupPlan, Plan } from "./plan.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { STREAM } from "./watch.ts";

const LONGEST_PAUSE_MS = 500;

export class Operator {
  readonly #rheo: Rheo;
  readonly #plan: Plan;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #counts: Counts;
  readonly #fault: (text: string) => void;
  #timer: Timer | null = null;

  constructor(
    rheo: Rheo,
    parts: { readonly plan: Plan; readonly time: VirtualTime; readonly random: Random; readonly counts: Counts },
    fault: (text: string) => void,
  ) {
    this.#rheo = rheo;
    this.#plan = parts.plan;
    this.#time = parts.time;
    this.#random = parts.random;
    this.#counts = parts.counts;
    this.#fault = fault;
  }

  start(): void {
    if (this.#plan.operator.acts.length === 0) return;
    const { everyMs } = this.#plan.operator;
    this.#timer = this.#time.schedule(everyMs / 2 + this.#random.below(everyMs), () => {
      this.start();
      this.#act().catch((cause: unknown) => this.#fault(`the operator: ${String(cause)}`));
    });
  }

  /** Goes home, and leaves no group paused. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    for (const { name } of this.#plan.groups) await this.#rheo.resumeGroup(STREAM, name);
  }

  async #act(): Promise<void> {
    const group = this.#random.pick(this.#plan.groups);
    switch (this.#random.pick(this.#plan.operator.acts)) {
      case "pause":
        return await this.#pause(group);
      case "replay":
        return await this.#replay(group);
      case "reset":
        this.#counts.resets += 1;
        return void (await this.#rheo.resetGroup(STREAM, group.name, { confirm: true }));
      case "redrive":
        this.#counts.redrives += 1;
        return void (await this.#rheo.redrive(STREAM, group.name, { all: true }));
      case "trim":
        this.#counts.trims += 1;
        return void (await this.#rheo.trim(STREAM, { keepLast: this.#random.below(10) }));
      case "change":
        this.#counts.groupChanges += 1;
        return void (await this.#rheo.updateGroup(STREAM, group.name, {
          leaseMs: group.leaseMs / 2 + this.#random.below(group.leaseMs),
        }));
    }
  }

  async #pause({ name }: GroupPlan): Promise<void> {
    this.#counts.pauses += 1;
    await this.#rheo.pauseGroup(STREAM, name);
    this.#time.schedule(this.#random.below(LONGEST_PAUSE_MS), () => void this.#rheo.resumeGroup(STREAM, name));
  }

  async #replay({ name }: GroupPlan): Promise<void> {
    const { highWatermark } = this.#random.pick((await this.#rheo.lag(STREAM, name)).partitions);
    if (highWatermark === 0) return;
    this.#counts.replays += 1;
    await this.#rheo.replay(STREAM, name, { fromSequence: this.#random.below(highWatermark) });
  }
}
