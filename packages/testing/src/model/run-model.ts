/** Runs commands against a store and the model, and compares the two after each. */
import {
  ack,
  type DeadLetterInfo,
  type DeliveryInfo,
  FrozenClock,
  type Lease,
  type Outcome,
  Rheo,
  reject,
  release,
  retry,
} from "@rheo/core";
import { type BackendUnderTest, openStore, type StoreUnderTest } from "../store.ts";
import { type Command, LEASE_MS, MEMBERS, PARTITIONS, type Script } from "./commands.ts";
import { Fault, type ModelDelivery, type ModelEvent, must, placeOf } from "./delivery.ts";
import type { IsolationTally } from "./isolation.ts";
import { ModelGroup } from "./model.ts";

const STREAM = "model";
/** Fetches after which everything must have drained. */
const DRAIN_ROUNDS = 400;

/** What the run came by. @throws Fault - the store did what the model forbids */
export const runModel = async (backend: BackendUnderTest, { maxAttempts, commands }: Script): Promise<IsolationTally> => {
  const clock = new FrozenClock();
  const store = await openStore(backend, clock);
  const run = new Run(store, clock, maxAttempts);
  try {
    await run.open();
    for (const [index, command] of commands.entries()) await run.step(command, index);
    await run.finish();
    return run.tally;
  } finally {
    await run.close();
    await store.dispose?.();
  }
};

interface Held {
  readonly lease: Lease;
  readonly group: ModelGroup;
  member: number | null;
}

class Run {
  readonly #store: StoreUnderTest;
  readonly #clock: FrozenClock;
  readonly #groups: readonly [ModelGroup, ModelGroup];
  readonly #events: ModelEvent[] = [];
  readonly #leases: Held[] = [];
  readonly #first: number[] = new Array<number>(PARTITIONS).fill(1);
  readonly #high: number[] = new Array<number>(PARTITIONS).fill(0);
  #members: Rheo[] = [];
  #opened: Rheo[] = [];

  constructor(store: StoreUnderTest, clock: FrozenClock, maxAttempts: Script["maxAttempts"]) {
    this.#store = store;
    this.#clock = clock;
    this.#groups = [new ModelGroup("plain", "none", maxAttempts[0]), new ModelGroup("ordered", "key", maxAttempts[1])];
  }

  get tally(): IsolationTally {
    const tallies = this.#groups.map(({ isolation }) => isolation.tally);
    const sum = (name: keyof IsolationTally): number => tallies.reduce((total, tally) => total + tally[name], 0);
    return { halvings: sum("halvings"), reservations: sum("reservations"), deaths: sum("deaths") };
  }

  async open(): Promise<void> {
    await this.#openMembers([this.#store.backend, await this.#store.again()]);
    await this.#rheo.createStream(STREAM, { partitions: PARTITIONS });
    for (const group of this.#groups) await this.#create(group);
  }

  async close(): Promise<void> {
    for (const rheo of this.#opened.splice(0)) await rheo.close();
  }

  async step(command: Command, index: number): Promise<void> {
    try {
      await this.#perform(command);
      for (const group of this.#groups) await this.#compare(group);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw new Fault(`after command ${index} (${JSON.stringify(command)}): ${error.message}`);
    }
  }

  /** Nothing is lost: with healthy members everything ends acked or dead. */
  async finish(): Promise<void> {
    for (const group of this.#groups) {
      await this.#rheo.resumeGroup(STREAM, group.name);
      group.paused = false;
      for (let round = 0; round < DRAIN_ROUNDS && (await this.#rheo.lag(STREAM, group.name)).lag > 0; round++) {
        const leases = await this.#fetch(group, round % MEMBERS, 10);
        for (const lease of leases) await this.#settle(group, lease, "ack", 0);
        if (leases.length === 0) this.#clock.advance(LEASE_MS);
      }
      await this.#compare(group);
      const open = group.deliveries().filter(({ state }) => state !== "acked" && state !== "dead");
      must(
        open.length === 0,
        `${group.name}: ${open.map(({ event, state }) => `${placeOf(event)} ${state}`).join(", ")} never ended`,
      );
      await this.#compareHistories(group);
    }
  }

  async #perform(command: Command): Promise<void> {
    const groups = this.#groups;
    switch (command.kind) {
      case "append":
        return this.#append(command);
      case "fetch":
        return void (await this.#fetch(groups[command.group % 2] ?? groups[0], command.member, command.limit));
      case "settle": {
        const held = this.#pick(command.pick);
        if (held !== null) await this.#settle(held.group, held.lease, command.how, command.delayMs);
        return;
      }
      case "settleAll":
        return this.#settleAll(groups[command.group % 2] ?? groups[0], command.member, command.how);
      case "forge":
        return this.#forge(command.pick, command.by);
      case "renew":
        return this.#renewPicked(command.pick, command.lengthMs);
      case "hold":
        return this.#hold(groups[command.group % 2] ?? groups[0], command.member, command.times);
      case "advance":
        return this.#clock.advance(command.ms);
      case "crash":
        return this.#crash(command.member);
      case "crashLoop":
        return this.#crashLoop(groups[command.group % 2] ?? groups[0], command);
      case "replay":
        return this.#replay(groups[command.group % 2] ?? groups[0], command.after, command.partition);
      case "replayKey":
        return this.#replayKey(groups[command.group % 2] ?? groups[0], command.key);
      case "reset":
        return this.#reset(groups[command.group % 2] ?? groups[0], command.after);
      case "redrive":
        return this.#redrive(groups[command.group % 2] ?? groups[0], command.pick);
      case "pause":
      case "resume":
        return this.#pause(groups[command.group % 2] ?? groups[0], command.kind === "pause");
      case "recreate":
        return this.#recreate(groups[command.group % 2] ?? groups[0]);
      case "trim":
        return this.#trim(command.keepLast, command.force);
      case "reopen":
        return this.#reopen();
      default:
        return command satisfies never;
    }
  }

  async #append({ partition, key, count }: Extract<Command, { kind: "append" }>): Promise<void> {
    const inputs = Array.from({ length: count }, () => ({ payload: null, partition, key }));
    for (const { id, sequence } of await this.#rheo.appendMany(STREAM, inputs)) {
      must(sequence === (this.#high[partition] ?? 0) + 1, `sequence ${sequence} after ${this.#high[partition]}`);
      this.#high[partition] = sequence;
      const event = { partition, sequence, id, key };
      this.#events.push(event);
      for (const group of this.#groups) group.offer(event);
    }
  }

  async #fetch(group: ModelGroup, member: number, limit: number): Promise<Lease[]> {
    const nowMs = this.#clock.now();
    const available = group.available(nowMs);
    const consumerId = `m${member}`;
    const leases = await this.#member(member).fetch(STREAM, group.name, { limit, consumerId });
    for (const letter of await this.#letters(group)) if (group.find(letter)?.state !== "dead") group.died(letter, nowMs);
    group.granted(leases, limit, consumerId, nowMs);
    if (available !== null)
      must(
        leases.length === Math.min(limit, available),
        `${group.name}: ${leases.length} leases, of ${available} that could be had`,
      );
    for (const lease of leases) this.#leases.push({ lease, group, member });
    return leases;
  }

  /** Of what the log still has. */
  async #letters({ name }: ModelGroup): Promise<DeadLetterInfo[]> {
    return (await this.#rheo.deadLetters(STREAM, name, { limit: 1_000 })).filter(({ event }) => event !== null);
  }

  async #settle(group: ModelGroup, lease: Lease, how: "ack" | "nack" | "reject" | "release", delayMs: number): Promise<void> {
    const why = group.isCurrent(lease) ? null : group.whyStale(lease);
    const [answer] = await this.#rheo.settle([{ lease, outcome: outcomeOf(how, delayMs) }]);
    if (answer?.status === "stale_lease" && why !== null)
      must(answer.why === why, `${group.name} ${placeOf(lease)} under ${lease.token}: told ${answer.why}, expected ${why}`);
    group.settled(lease, how, delayMs, answer?.status === "settled" ? answer.state : "stale", this.#clock.now());
  }

  async #settleAll(group: ModelGroup, member: number, how: "ack" | "nack"): Promise<void> {
    const held = this.#leases.filter((candidate) => candidate.group === group && candidate.member === member);
    for (const one of held) one.member = null;
    const answers = await this.#member(member).settle(held.map(({ lease }) => ({ lease, outcome: outcomeOf(how, 0) })));
    for (const [index, { lease }] of held.entries()) {
      const answer = answers[index];
      group.settled(lease, how, 0, answer?.status === "settled" ? answer.state : "stale", this.#clock.now());
    }
  }

  /** A token that was never given with that delivery settles nothing. */
  async #forge(pick: number, by: number): Promise<void> {
    const held = this.#pick(pick);
    if (held === null || held.lease.token + by < 1) return;
    const forged = { ...held.lease, token: held.lease.token + by };
    if (held.group.wasGiven(forged)) return;
    for (const how of ["ack", "nack", "reject", "release"] as const) {
      const [answer] = await this.#rheo.settle([{ lease: forged, outcome: outcomeOf(how, 0) }]);
      must(
        answer?.status === "stale_lease",
        `${held.group.name} ${placeOf(forged)}: a made-up token ${forged.token} was accepted`,
      );
    }
  }

  async #renewPicked(pick: number, lengthMs: number): Promise<void> {
    const held = this.#pick(pick);
    if (held !== null) await this.#renew(held.group, [held.lease], lengthMs);
  }

  async #renew(group: ModelGroup, leases: readonly Lease[], lengthMs: number): Promise<void> {
    const answers = await this.#rheo.renewMany(leases, { leaseMs: lengthMs });
    const accepted = answers.map(({ status }) => status === "renewed");
    group.renewed(leases, lengthMs, accepted, this.#clock.now());
  }

  /** What a member remembers and nobody took from it is renewed in time, again and again. */
  async #hold(group: ModelGroup, member: number, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      const held = this.#leases.filter(
        (candidate) => candidate.group === group && candidate.member === member && group.isCurrent(candidate.lease),
      );
      if (held.length === 0) return;
      await this.#renew(
        group,
        held.map(({ lease }) => lease),
        LEASE_MS,
      );
      this.#clock.advance(LEASE_MS - 1);
    }
  }

  #crash(member: number): void {
    for (const held of this.#leases) if (held.member === member) held.member = null;
  }

  /** A process dies of what it fetched, starts again when its leases have run out, and dies again. */
  async #crashLoop(group: ModelGroup, { member, limit, times }: Extract<Command, { kind: "crashLoop" }>): Promise<void> {
    for (let time = 0; time < times; time++) {
      await this.#fetch(group, member, limit);
      this.#crash(member);
      this.#clock.advance(LEASE_MS);
    }
  }

  async #replay(group: ModelGroup, after: number, partition: number | null): Promise<void> {
    const scope = partition === null ? [...this.#high.keys()] : [partition];
    if (scope.every((index) => after > (this.#high[index] ?? 0))) return;
    const offered = await this.#offered(group, ({ event }) => scope.includes(event.partition) && event.sequence > after);
    const { reopened } = await this.#rheo.replay(STREAM, group.name, {
      fromSequence: after,
      ...(partition === null ? {} : { partitions: [partition] }),
    });
    must(reopened === offered.length, `${group.name}: replay re-opened ${reopened}, expected ${offered.length}`);
    group.reopened(offered, "new");
  }

  async #replayKey(group: ModelGroup, key: string): Promise<void> {
    const offered = await this.#offered(group, ({ event }) => event.key === key);
    const { reopened } = await this.#rheo.replay(STREAM, group.name, { query: { key } });
    must(reopened === offered.length, `${group.name}: replay by key re-opened ${reopened}, expected ${offered.length}`);
    group.reopened(offered, "pending");
  }

  /** Deliveries that were offered before. Whether an ordered group has looked at one yet is the store's choice. */
  async #offered(group: ModelGroup, wanted: (delivery: ModelDelivery) => boolean): Promise<ModelDelivery[]> {
    const found: ModelDelivery[] = [];
    for (const delivery of group.deliveries().filter((candidate) => !candidate.outside && wanted(candidate))) {
      if (delivery.state !== "new") found.push(delivery);
      else if (group.ordering !== "none" && (await this.#deliveryOf(group, delivery.event))?.parked) found.push(delivery);
    }
    return found;
  }

  async #reset(group: ModelGroup, after: number): Promise<void> {
    await this.#rheo.resetGroup(STREAM, group.name, { confirm: true, start: { after } });
    group.reset(
      this.#high.map((high, partition) => Math.min(high, Math.max(after, (this.#first[partition] ?? 1) - 1))),
      "reset",
    );
  }

  async #redrive(group: ModelGroup, pick: number | null): Promise<void> {
    const dead = group.deliveries().filter(({ state }) => state === "dead");
    const chosen = pick === null ? dead : dead.slice(pick % Math.max(1, dead.length)).slice(0, 1);
    const selection = pick === null ? ({ all: true } as const) : { eventIds: chosen.map(({ event }) => event.id) };
    const { reopened } = await this.#rheo.redrive(STREAM, group.name, selection);
    must(reopened === chosen.length, `${group.name}: redrive re-opened ${reopened}, expected ${chosen.length}`);
    group.reopened(chosen, "pending");
  }

  async #pause(group: ModelGroup, paused: boolean): Promise<void> {
    await (paused ? this.#rheo.pauseGroup(STREAM, group.name) : this.#rheo.resumeGroup(STREAM, group.name));
    group.paused = paused;
  }

  async #recreate(group: ModelGroup): Promise<void> {
    await this.#rheo.deleteGroup(STREAM, group.name, { confirm: true });
    await this.#create(group);
    group.paused = false;
    group.reset(
      this.#first.map((first) => first - 1),
      "reset",
    );
  }

  async #create(group: ModelGroup): Promise<void> {
    await this.#rheo.createGroup(STREAM, group.name, {
      ordering: group.ordering,
      maxAttempts: group.maxAttempts,
      leaseMs: LEASE_MS,
    });
  }

  async #trim(keepLast: number, force: boolean): Promise<void> {
    await this.#rheo.trim(STREAM, { keepLast, force });
    const { partitions } = await this.#rheo.streamInfo(STREAM);
    for (const { partition, firstSequence, highWatermark } of partitions) {
      const slowest = Math.min(
        ...this.#groups.map((group) => group.frontier(partition, this.#first[partition] ?? 1, highWatermark)),
      );
      const wanted = Math.max((this.#first[partition] ?? 1) - 1, highWatermark - keepLast);
      const expected = force ? wanted : Math.min(wanted, Math.max(slowest, (this.#first[partition] ?? 1) - 1));
      must(
        firstSequence === expected + 1,
        `partition ${partition} begins at ${firstSequence} after a trim, expected ${expected + 1}`,
      );
      this.#first[partition] = firstSequence;
    }
    for (const group of this.#groups) group.trimmed(this.#first.map((first) => first - 1));
  }

  async #reopen(): Promise<void> {
    await this.close();
    await this.#openMembers([await this.#store.again(), await this.#store.again()]);
  }

  /** What can be seen of a group is what the model says. */
  async #compare(group: ModelGroup): Promise<void> {
    const nowMs = this.#clock.now();
    const { partitions } = await this.#rheo.lag(STREAM, group.name);
    for (const { partition, frontier, highWatermark, lag } of partitions) {
      const expected = group.frontier(partition, this.#first[partition] ?? 1, this.#high[partition] ?? 0);
      must(highWatermark === this.#high[partition], `high watermark ${highWatermark}, expected ${this.#high[partition]}`);
      must(frontier === expected, `${group.name}: the frontier of ${partition} is ${frontier}, expected ${expected}`);
      must(lag === highWatermark - frontier && lag >= 0, `${group.name}: lag ${lag}`);
    }
    const leased = group.deliveries().filter(({ state }) => state === "leased");
    const told = (await this.#rheo.leases(STREAM, group.name)).map(
      ({ expiresAt, token, attempt, ...place }) => `${placeOf(place)} ${token} ${attempt} ${expiresAt.getTime()}`,
    );
    const expected = leased.map(
      ({ event, token, attempt, expiresAtMs }) => `${placeOf(event)} ${token} ${attempt} ${expiresAtMs}`,
    );
    must(
      [...told].sort().join() === [...expected].sort().join(),
      `${group.name}: leases ${told.join(", ")}; expected ${expected.join(", ")}`,
    );
    const { inflight, retrying, paused } = await this.#rheo.groupInfo(STREAM, group.name);
    must(inflight === leased.filter(({ expiresAtMs }) => expiresAtMs > nowMs).length, `${group.name}: in flight ${inflight}`);
    must(
      retrying === group.deliveries().filter(({ state }) => state === "retrying").length,
      `${group.name}: retrying ${retrying}`,
    );
    must(paused === group.paused, `${group.name}: paused ${paused}`);
    await this.#compareDead(group);
  }

  async #compareDead(group: ModelGroup): Promise<void> {
    const told = (await this.#letters(group)).map((letter) => `${placeOf(letter)} ${letter.attempts}`);
    const dead = group
      .deliveries()
      .filter(({ state }) => state === "dead")
      .map(({ event, attempt }) => `${placeOf(event)} ${attempt}`);
    must(
      [...told].sort().join() === [...dead].sort().join(),
      `${group.name}: dead ${told.join(", ")}; expected ${dead.join(", ")}`,
    );
  }

  async #compareHistories(group: ModelGroup): Promise<void> {
    for (const { event, state } of group.deliveries()) {
      const found = await this.#deliveryOf(group, event);
      must(
        found?.state === (state === "new" ? "pending" : state),
        `${group.name} ${placeOf(event)}: ${found?.state}, expected ${state}`,
      );
    }
  }

  async #deliveryOf(group: ModelGroup, event: ModelEvent): Promise<DeliveryInfo | undefined> {
    const history = await this.#rheo.eventHistory(STREAM, event.id);
    return history?.groups.find((candidate) => candidate.group === group.name);
  }

  async #openMembers(backends: readonly StoreUnderTest["backend"][]): Promise<void> {
    for (const backend of backends) this.#opened.push(await Rheo.open({ backend, clock: this.#clock, random: () => 0.5 }));
    this.#members = Array.from({ length: MEMBERS }, (_, index) => this.#opened[index % this.#opened.length] ?? this.#rheo);
  }

  get #rheo(): Rheo {
    return this.#member(0);
  }

  #member(index: number): Rheo {
    const rheo = this.#members[index % this.#members.length] ?? this.#opened[0];
    if (rheo === undefined) throw new TypeError("no member is open");
    return rheo;
  }

  #pick(index: number): Held | null {
    return this.#leases[index % Math.max(1, this.#leases.length)] ?? null;
  }
}

const outcomeOf = (how: "ack" | "nack" | "reject" | "release", delayMs: number): Outcome => {
  switch (how) {
    case "ack":
      return ack();
    case "nack":
      return retry("model", { delayMs });
    case "reject":
      return reject("model");
    case "release":
      return release();
    default:
      return how satisfies never;
  }
};
