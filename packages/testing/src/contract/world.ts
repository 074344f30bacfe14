/**
 * What a case runs in: a new store, a clock that only the case moves, and two members. `rheo` is the first; `peer` is the
 * second, which is another instance on the same store where the suite runs with two, and the same one where it runs with one.
 */
import {
  type Backend,
  type CreateGroupOptions,
  type DeliveryInfo,
  type Event,
  type EventInput,
  type FetchOptions,
  FrozenClock,
  type Lease,
  Rheo,
  type RheoOptions,
} from "@rheo/core";
import { expect } from "vitest";
import { type Flaky, flaky } from "../flaky.ts";
import { type BackendUnderTest, openStore, type StoreUnderTest, type TransactionFixture } from "../store.ts";

/** With how many instances a case runs. */
export type Instances = "one instance" | "two instances";

export const STREAM = "orders";
export const GROUP = "billing";
/** Length of a lease unless a case says otherwise: the default of groups. */
export const LEASE_MS = 30_000;
/** More fetches than any case needs to drain its few events. */
const MAX_ROUNDS = 10_000;

export class World {
  readonly clock: FrozenClock;
  readonly #store: StoreUnderTest;
  readonly #instances: Instances;
  readonly #opened: Rheo[] = [];
  #rheo: Rheo;
  #peer: Rheo;
  #appended = 0;

  static async open(backend: BackendUnderTest, instances: Instances): Promise<World> {
    const clock = new FrozenClock();
    const store = await openStore(backend, clock);
    const rheo = await openRheo(store.backend, clock);
    const peer = instances === "one instance" ? rheo : await openRheo(await store.again(), clock, { name: "peer" });
    return new World(clock, store, instances, rheo, peer);
  }

  private constructor(clock: FrozenClock, store: StoreUnderTest, instances: Instances, rheo: Rheo, peer: Rheo) {
    this.clock = clock;
    this.#store = store;
    this.#instances = instances;
    this.#rheo = rheo;
    this.#peer = peer;
    this.#opened.push(rheo, peer);
  }

  /** The first member. */
  get rheo(): Rheo {
    return this.#rheo;
  }

  /** The second member. */
  get peer(): Rheo {
    return this.#peer;
  }

  /** Only on backends whose capability says so. */
  get transactions(): TransactionFixture {
    const { transactions } = this.#store;
    if (transactions === undefined) expect.fail("capabilities.transactions is on, so open() must return `transactions`");
    return transactions;
  }

  /** One more instance on the same store. */
  async instance(options: Partial<Omit<RheoOptions, "backend" | "clock">> = {}): Promise<Rheo> {
    const rheo = await openRheo(await this.#store.again(), this.clock, options);
    this.#opened.push(rheo);
    return rheo;
  }

  /** One more instance, whose calls can be made to fail. */
  async unreliable(): Promise<{ readonly rheo: Rheo; readonly faults: Flaky }> {
    const faults = flaky(await this.#store.again(), { seed: 1 });
    const rheo = await openRheo(faults, this.clock);
    this.#opened.push(rheo);
    return { rheo, faults };
  }

  /** Closes every instance, as the end of all processes does, and opens the store again. */
  async reopen(): Promise<void> {
    await this.#closeAll();
    this.#rheo = await this.instance();
    this.#peer = this.#instances === "one instance" ? this.#rheo : await this.instance({ name: "peer" });
  }

  async close(): Promise<void> {
    await this.#closeAll();
    await this.#store.dispose?.();
  }

  async #closeAll(): Promise<void> {
    for (const rheo of this.#opened.splice(0)) await rheo.close();
  }

  // Words for what cases do most

  /** Creates the stream, unless it is there, and a group. */
  async group(options: CreateGroupOptions & { readonly partitions?: number } = {}, name: string = GROUP): Promise<void> {
    const { partitions, ...rest } = options;
    await this.rheo.ensureStream(STREAM, partitions === undefined ? {} : { partitions });
    await this.rheo.createGroup(STREAM, name, rest);
  }

  /** Appends `count` events, to partition 0 unless said otherwise, whose payloads number them: `{ n }`, from 1. */
  append(count: number, input: Partial<EventInput> = { partition: 0 }): Promise<Event[]> {
    const events = Array.from({ length: count }, () => ({ ...input, payload: { n: ++this.#appended } }));
    return this.rheo.appendMany(STREAM, events);
  }

  /** The first member, "a", fetches. */
  take(limit = 10, options: FetchOptions = {}): Promise<Lease[]> {
    return this.rheo.fetch(STREAM, GROUP, { limit, consumerId: "a", ...options });
  }

  /** The second member, "b", fetches. */
  peerTake(limit = 10, options: FetchOptions = {}): Promise<Lease[]> {
    return this.peer.fetch(STREAM, GROUP, { limit, consumerId: "b", ...options });
  }

  /** The first member fetches exactly one. */
  async takeOne(options: FetchOptions = {}): Promise<Lease> {
    return only(await this.take(1, options));
  }

  async peerTakeOne(options: FetchOptions = {}): Promise<Lease> {
    return only(await this.peerTake(1, options));
  }

  /** Appends and leases. */
  async lease(count: number, input?: Partial<EventInput>): Promise<Lease[]> {
    await this.append(count, input);
    const leases = await this.take(count);
    expect(leases).toHaveLength(count);
    return leases;
  }

  /** Lets every lease of default length run out. */
  expire(): void {
    this.clock.advance(LEASE_MS);
  }

  /** Fetches and acks with the second member until nothing comes; what came, in order. */
  async drain(group: string = GROUP): Promise<Lease[]> {
    const all: Lease[] = [];
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const leases = await this.peer.fetch(STREAM, group, { limit: 100, consumerId: "drain" });
      if (leases.length === 0) return all;
      for (const lease of leases) await this.peer.ack(lease);
      all.push(...leases);
    }
    return expect.fail("the group did not drain");
  }

  async lag(group: string = GROUP): Promise<number> {
    return (await this.peer.lag(STREAM, group)).lag;
  }

  async frontier(partition = 0, group: string = GROUP): Promise<number> {
    return (await this.peer.lag(STREAM, group)).partitions[partition]?.frontier ?? -1;
  }

  /** Where the group stands with one delivery. */
  async delivery(sequence: number, partition = 0, group: string = GROUP): Promise<DeliveryInfo> {
    const [event] = await this.peer.query(STREAM, { partition, afterSequence: sequence - 1, untilSequence: sequence });
    const history = await this.peer.eventHistory(STREAM, event?.id ?? "");
    const found = history?.groups.find((candidate) => candidate.group === group);
    if (found === undefined) return expect.fail(`there is no event ${partition}/${sequence}`);
    return found;
  }

  /** Its state; "expired" for a lease that has run out. */
  async state(sequence: number, partition = 0): Promise<DeliveryInfo["state"] | "expired"> {
    const { state, expired } = await this.delivery(sequence, partition);
    return expired ? "expired" : state;
  }

  /** Everything that can be seen of a group, to compare before and after. */
  async snapshot(group: string = GROUP): Promise<unknown> {
    const events = await this.peer.query(STREAM, { limit: 1_000 });
    const histories = await Promise.all(events.map((event) => this.peer.eventHistory(STREAM, event.id)));
    const { members, ...info } = await this.peer.groupInfo(STREAM, group);
    const held = members.filter(({ leases }) => leases > 0).map(({ consumerId, leases }) => ({ consumerId, leases }));
    return structuredClone({
      lag: await this.peer.lag(STREAM, group),
      info,
      held,
      holders: await this.peer.explainLag(STREAM, group),
      leases: await this.peer.leases(STREAM, group),
      deadLetters: await this.peer.deadLetters(STREAM, group),
      histories,
    });
  }

  /** Lets waiting calls go on: moves the clock in steps until `call` is done. */
  async pump<Result>(call: Promise<Result>, stepMs = 100): Promise<Result> {
    let done = false;
    const watched = call.finally(() => {
      done = true;
    });
    watched.catch(() => undefined);
    for (let step = 0; step < MAX_PUMPS && !done; step++) {
      await new Promise<void>((resolve) => (step < QUICK_PUMPS ? setImmediate(resolve) : setTimeout(resolve, 1)));
      this.clock.advance(stepMs);
    }
    if (!done) expect.fail("the call is still waiting");
    return watched;
  }
}

/** Steps of the clock after which a waiting call counts as stuck. */
const MAX_PUMPS = 1_000;
/** Steps before a real millisecond is given to each, for stores behind a socket. */
const QUICK_PUMPS = 10;

/** Retry delays are exact: the middle of their spread. */
const openRheo = (backend: Backend, clock: FrozenClock, options: Partial<RheoOptions> = {}): Promise<Rheo> =>
  Rheo.open({ random: () => 0.5, ...options, backend, clock });

const only = (leases: readonly Lease[]): Lease => {
  const [lease] = leases;
  if (lease === undefined || leases.length !== 1) return expect.fail(`expected one lease, got ${leases.length}`);
  return lease;
};
