/**
 * One seed: a deployment of the real runtime, core and memory backend on virtual time. First everything goes wrong that the plan has
 * switched on; then the faults end, and all must drain. Who watches sits outside: above the store, in the handlers, and here.
 */
import { type Backend, Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type Random, seeded } from "@rheo/testing/internal";
import { type Counts, noCounts } from "./counts.ts";
import { Handlers } from "./handlers.ts";
import { Host, type HostWorld } from "./host.ts";
import { HostClock } from "./host-clock.ts";
import { isReady, turn, withoutEventLoop } from "./immediates.ts";
import { Memories } from "./memories.ts";
import { networkTo } from "./network.ts";
import { Operator } from "./operator.ts";
import { type FaultPlan, type Plan, planOf } from "./plan.ts";
import { Producer } from "./producer.ts";
import { VirtualTime } from "./virtual-time.ts";
import { STREAM, Watch } from "./watch.ts";

export interface Simulated {
  readonly seed: number;
  /** Empty when every invariant held. */
  readonly violations: readonly string[];
  readonly counts: Counts;
  readonly steps: number;
  readonly virtualMs: number;
  readonly plan: Plan;
}

/** How long things go wrong after the last append, at most. */
const RAGE_MS = 3_000;
/** By then all must have drained: poison may need some leases for each of its attempts. */
const DRAIN_MS = 900_000;
const STOP_MS = 60_000;
const LOOK_MS = 100;
const RESTART_MS = 100;
/** A run of more steps than this does not end. */
const MAX_STEPS = 400_000;
const NO_FAULTS: FaultPlan = {
  lose: 0,
  refuse: 0,
  delay: 0,
  maxDelayMs: 0,
  dropWakes: 0,
  repeatWakes: 0,
  killEveryMs: 0,
  stopEveryMs: 0,
  replaceEveryMs: 0,
  killThreadEveryMs: 0,
  skewMs: 0,
};

export interface SimulateOptions {
  /** Told what happens, a line each. */
  readonly trace?: (line: string) => void;
  /** What the store is put into: a fault that is to be found. */
  readonly wrap?: (store: Backend) => Backend;
}

/** The same seed does the same again. */
export const simulate = async (seed: number, options: SimulateOptions = {}): Promise<Simulated> => {
  const simulation = new Simulation(planOf(seed), options);
  const simulated = await withoutEventLoop(() => simulation.run());
  simulation.memories.giveBack();
  return simulated;
};

class Simulation implements HostWorld {
  readonly plan: Plan;
  readonly random: Random;
  readonly time: VirtualTime;
  readonly counts: Counts = noCounts();
  readonly store: HostWorld["store"];
  readonly handlers: Handlers;
  readonly memories = new Memories();
  readonly #watch: Watch;
  readonly #hosts: Host[] = [];
  #faults: FaultPlan;
  #names = 0;
  #steps = 0;
  /** The world has ended: nobody is restarted. */
  #isOver = false;

  constructor(plan: Plan, { trace, wrap = (store) => store }: SimulateOptions) {
    this.plan = plan;
    this.random = seeded(plan.seed ^ 0x5eed);
    this.time = new VirtualTime(this.random);
    this.#watch = new Watch(plan.groups, () => this.time.now(), this.counts, trace ?? null);
    this.store = this.#watch.over(wrap(memory()));
    this.handlers = new Handlers(this.#watch, plan.fates, this.counts);
    this.#faults = plan.faults;
  }

  readonly faults = (): FaultPlan => this.#faults;

  fault(text: string): void {
    this.#watch.fault(text);
  }

  note(text: string): void {
    this.#watch.note(text);
  }

  /** As an init system does, a new process takes the place of one that ended. */
  died(host: Host): void {
    this.#hosts.splice(this.#hosts.indexOf(host), 1);
    this.time.schedule(RESTART_MS + this.random.below(RESTART_MS), () => {
      if (!this.#isOver) this.#startHost();
    });
  }

  async run(): Promise<Simulated> {
    const admin = await Rheo.open({ backend: this.store, clock: this.time, random: () => this.random.next() });
    await this.#prepare(admin);
    const producer = await this.#producer();
    const produced = producer.run().catch((cause: unknown) => this.fault(`the producer: ${String(cause)}`));
    for (let count = 0; count < this.plan.hosts; count++) this.#startHost();
    const operator = new Operator(admin, this, (text) => this.fault(text));
    operator.start();
    this.#schedule("killEveryMs", () => this.#killHost());
    this.#schedule("stopEveryMs", () => this.#stopHost());
    this.#schedule("replaceEveryMs", () => this.#replaceHost());
    this.#schedule("killThreadEveryMs", () => this.#killThread());
    await this.#until(() => producer.isDone, DRAIN_MS, "the producer did not come to its end");
    await produced;
    await this.#pass(this.random.below(RAGE_MS));
    await this.#checkLag(admin);
    await this.#calm(operator, admin);
    await this.#checkEnd(admin, producer);
    await this.#stopAll();
    await admin.close();
    return {
      seed: this.plan.seed,
      violations: this.#watch.found,
      counts: this.counts,
      steps: this.#steps,
      virtualMs: this.time.monotonic(),
      plan: this.plan,
    };
  }

  async #prepare(admin: Rheo): Promise<void> {
    await admin.createStream(STREAM, { partitions: this.plan.partitions });
    for (const { name, ordering, filter, maxAttempts, leaseMs, retry, maxInflight } of this.plan.groups) {
      await admin.createGroup(STREAM, name, {
        ordering,
        maxAttempts,
        leaseMs,
        retry,
        maxInflight,
        filter: filter === null ? null : { "payload.rest": filter },
      });
    }
  }

  async #producer(): Promise<Producer> {
    const { store, time, random, counts, faults, plan } = this;
    const clock = new HostClock(time, 0);
    const backend = networkTo({ store, host: clock, time, random, counts, faults });
    const rheo = await Rheo.open({ backend, clock, random: () => random.next() });
    return new Producer(rheo, plan, clock, random, counts);
  }

  #startHost(): void {
    const { skewMs } = this.#faults;
    const skew = skewMs === 0 ? 0 : this.random.below(2 * skewMs) - skewMs;
    if (skew !== 0) this.counts.clocksSkewed += 1;
    const host = new Host(`h${this.#names++}`, this, skew);
    this.#hosts.push(host);
    this.note(`${host.name} starts`);
    host.start().catch((cause: unknown) => this.fault(`${host.name} did not start: ${String(cause)}`));
  }

  // Faults

  #schedule(name: "killEveryMs" | "stopEveryMs" | "replaceEveryMs" | "killThreadEveryMs", act: () => void): void {
    const everyMs = this.#faults[name];
    if (everyMs === 0) return;
    this.time.schedule(everyMs / 2 + this.random.below(everyMs), () => {
      if (this.#faults[name] === 0 || this.#isOver) return;
      act();
      this.#schedule(name, act);
    });
  }

  #running(): Host | null {
    const running = this.#hosts.filter(({ clock }) => !clock.isDead && !clock.isStopped);
    return running.length === 0 ? null : this.random.pick(running);
  }

  #killHost(): void {
    const host = this.#running();
    if (host === null) return;
    this.counts.processesKilled += 1;
    host.kill();
    this.died(host);
  }

  #stopHost(): void {
    const host = this.#running();
    if (host === null) return;
    this.counts.processesStopped += 1;
    this.note(`${host.name} stands still`);
    host.clock.stop();
    this.time.schedule(this.random.below(4_000), () => host.clock.resume());
  }

  #replaceHost(): void {
    const host = this.#running();
    if (host === null) return;
    this.counts.processesReplaced += 1;
    this.#hosts.splice(this.#hosts.indexOf(host), 1);
    host.stop().catch((cause: unknown) => this.fault(`${host.name} did not stop: ${String(cause)}`));
    this.#startHost();
  }

  #killThread(): void {
    if (this.#running()?.killThread() === true) this.counts.threadsKilled += 1;
  }

  // The end

  async #calm(operator: Operator, admin: Rheo): Promise<void> {
    this.note("no more faults");
    this.#faults = NO_FAULTS;
    for (const host of this.#hosts) host.clock.resume();
    await operator.stop();
    let isDrained = false;
    const look = async (): Promise<void> => {
      const lags = await Promise.all(this.plan.groups.map(({ name }) => admin.lag(STREAM, name)));
      isDrained = lags.every(({ lag }) => lag === 0);
      if (!isDrained && !this.#isOver) this.time.schedule(LOOK_MS, () => void look());
    };
    await look();
    await this.#until(() => isDrained, DRAIN_MS, "it did not drain, though no fault was left");
    await this.#checkLag(admin);
  }

  /** P1: the lag is what is not finished; the frontier is never over a hole. */
  async #checkLag(admin: Rheo): Promise<void> {
    for (const group of this.#watch.groups.values()) {
      const { partitions } = await admin.lag(STREAM, group.plan.name);
      for (const { partition, frontier, highWatermark, lag } of partitions) {
        const expected = group.frontier(partition, highWatermark);
        // what the filter drops is passed when it is looked at, so the store may know later; it must never know more
        const isRight = group.plan.filter === null ? frontier === expected : frontier <= expected;
        if (!isRight) this.fault(`the frontier of ${group.plan.name} in ${partition} is ${frontier}, expected ${expected} (P1)`);
        if (lag !== highWatermark - frontier) this.fault(`the lag of ${group.plan.name} in ${partition} is ${lag} (P1)`);
      }
    }
  }

  async #checkEnd(admin: Rheo, producer: Producer): Promise<void> {
    for (const { id, place } of producer.acknowledged)
      if (this.#watch.log.get(place)?.id !== id) this.fault(`${id} was acknowledged at ${place}, where it is not`);
    // an append whose answer was lost can be repeated only until its events are trimmed (L4)
    if (this.#watch.log.size !== this.plan.events && this.counts.trims === 0)
      this.fault(`${this.plan.events} events were appended, and ${this.#watch.log.size} are stored`);
    for (const group of this.#watch.groups.values()) await this.#checkGroup(admin, group.plan.name);
  }

  /** Every event is acked or dead; the dead have one letter each, and what was meant to die is dead. */
  async #checkGroup(admin: Rheo, name: string): Promise<void> {
    const group = this.#watch.groups.get(name);
    if (group === undefined) return;
    const letters = (await admin.deadLetters(STREAM, name, { limit: 1_000 })).map(
      ({ partition, sequence }) => `${partition}/${sequence}`,
    );
    if (new Set(letters).size !== letters.length) this.fault(`${name} has two dead letters of one delivery (T6)`);
    const dead = new Set(letters);
    for (const [place, logged] of this.#watch.log) {
      if (!group.wants(logged)) continue;
      const state = group.witness.stateOf(place);
      if (state === null) this.fault(`${place} ended neither acked nor dead in ${name} (P1)`);
      if (state === "acked" && dead.has(place)) this.fault(`${place} is acked in ${name}, and has a dead letter`);
      // a reset clears the letters of what was trimmed since, too
      const isTrimmed = sequenceOf(place) < (group.first[partitionOf(place)] ?? 1);
      if (state === "dead" && !dead.has(place) && !isTrimmed)
        this.fault(`${place} is dead in ${name}, without a dead letter (T6)`);
      this.#checkFate(name, place, logged.n, state);
    }
  }

  #checkFate(name: string, place: string, n: number, state: "acked" | "dead" | null): void {
    const fate = this.plan.fates[n];
    const isPoison = fate?.kind === "kills process" || fate?.kind === "kills thread" || fate?.kind === "reject";
    if (isPoison && state === "acked") this.fault(`${place} was acked in ${name}, though its fate is: ${fate.kind}`);
    const isInnocent = fate?.kind === "ack" || fate?.kind === "extends";
    if (isInnocent && state === "dead" && this.#isGentle(name))
      this.fault(`${place} is dead in ${name}, and nothing but others' failures can have done it (T5)`);
  }

  /** Whether nothing ever charged an attempt to an event that did not deserve it. */
  #isGentle(name: string): boolean {
    const { faults, fates, groups } = this.plan;
    const group = groups.find((candidate) => candidate.name === name);
    const disturbed =
      faults.killEveryMs +
      faults.stopEveryMs +
      faults.replaceEveryMs +
      faults.killThreadEveryMs +
      faults.lose +
      faults.refuse +
      faults.delay;
    return disturbed === 0 && group?.timeoutMs === null && !fates.some(({ kind }) => kind === "kills process");
  }

  async #stopAll(): Promise<void> {
    const hosts = this.#hosts.splice(0).filter(({ isAlive }) => isAlive);
    for (const { name, failure } of hosts.map((host) => ({ name: host.name, failure: host.failure })))
      if (failure !== null) this.fault(`${name} has given up ${failure}`);
    this.#isOver = true;
    let left = hosts.length;
    for (const host of hosts) {
      host.stop().then(
        () => {
          left -= 1;
        },
        (cause: unknown) => this.fault(`${host.name} did not stop: ${String(cause)}`),
      );
    }
    await this.#until(() => left === 0, STOP_MS, "a host did not stop");
    const running = this.handlers.runningIn(({ clock }) => !clock.isDead);
    if (running > 0) this.fault(`${running} handlers run on after the end`);
  }

  // Time

  async #pass(ms: number): Promise<void> {
    const endMs = this.time.monotonic() + ms;
    this.time.schedule(ms, () => undefined);
    await this.#until(() => this.time.monotonic() >= endMs, ms + 1, "time does not pass");
  }

  async #until(isDone: () => boolean, withinMs: number, complaint: string): Promise<void> {
    const endMs = this.time.monotonic() + withinMs;
    await turn();
    while (!isDone()) {
      const { nextAtMs } = this.time;
      if (nextAtMs === null || nextAtMs > endMs || this.#steps >= MAX_STEPS) return this.fault(complaint);
      if (nextAtMs > this.time.monotonic() && isReady()) await turn();
      this.time.step();
      this.#steps += 1;
      await turn();
    }
  }
}

const partitionOf = (place: string): number => Number(place.split("/")[0]);
const sequenceOf = (place: string): number => Number(place.split("/")[1]);
