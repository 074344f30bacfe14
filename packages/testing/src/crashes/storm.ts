/**
 * A group at work while its members die at random: between fetch and ack, before and after the work is done, and while the answer
 * to a settle is under way. Clocks run on, siblings take over, and the dead come back to settle late. A witness watches.
 */
import { ack, FrozenClock, type Lease, type Outcome, Rheo, RheoError, reject, release, retry } from "@rheo/core";
import { type Flaky, flaky } from "../flaky.ts";
import { type Random, seeded } from "../random.ts";
import { type BackendUnderTest, openStore, type StoreUnderTest } from "../store.ts";
import { Witness } from "./witness.ts";

export interface StormOptions {
  readonly seed: number;
  readonly events: number;
  readonly partitions: number;
  readonly members: number;
  readonly steps: number;
  /** Events, by number from 0, that kill every member that works on them. */
  readonly poison: ReadonlySet<number>;
  readonly maxAttempts: number;
}

export interface StormResult {
  /** Empty when every invariant held. */
  readonly violations: readonly string[];
  readonly counts: Witness["counts"] & { readonly crashes: number; readonly lateSettles: number };
}

const STREAM = "storm";
const GROUP = "group";
const LEASE_MS = 1_000;
/** Rounds in which everything must drain once only poison kills. */
const CALM_ROUNDS = 3_000;

interface Member {
  consumerId: string;
  readonly rheo: Rheo;
  readonly faults: Flaky;
  held: Lease[];
}

export const runStorm = async (backend: BackendUnderTest, options: StormOptions): Promise<StormResult> => {
  const clock = new FrozenClock();
  const store = await openStore(backend, clock);
  const storm = new Storm(store, clock, options);
  try {
    await storm.open();
    await storm.rage();
    await storm.calm();
    return storm.result();
  } finally {
    await storm.close();
    await store.dispose?.();
  }
};

class Storm {
  readonly #store: StoreUnderTest;
  readonly #clock: FrozenClock;
  readonly #options: StormOptions;
  readonly #random: Random;
  readonly #witness: Witness;
  readonly #members: Member[] = [];
  readonly #instances: { readonly rheo: Rheo; readonly faults: Flaky }[] = [];
  /** Leases whose holders died; some come back. */
  readonly #ghosts: Lease[] = [];
  /** When each member died, and of what: the place of a poison, or null. */
  readonly #deaths = new Map<string, { readonly poison: string | null; readonly atMs: number }>();
  readonly #poison = new Set<string>();
  readonly #violations: string[] = [];
  #born = 0;
  #appended = 0;
  #lateSettles = 0;

  constructor(store: StoreUnderTest, clock: FrozenClock, options: StormOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#options = options;
    this.#random = seeded(options.seed);
    this.#witness = new Witness({ now: () => clock.now(), maxAttempts: options.maxAttempts });
  }

  async open(): Promise<void> {
    for (const handle of [this.#store.backend, await this.#store.again()]) {
      const faults = flaky(this.#witness.watch(handle), { seed: this.#options.seed });
      this.#instances.push({
        faults,
        rheo: await Rheo.open({ backend: faults, clock: this.#clock, random: () => this.#random.next() }),
      });
    }
    const { partitions, members, maxAttempts } = this.#options;
    await this.#any().rheo.createStream(STREAM, { partitions });
    await this.#any().rheo.createGroup(STREAM, GROUP, { leaseMs: LEASE_MS, maxAttempts, retry: { minMs: 0, maxMs: LEASE_MS } });
    for (let index = 0; index < members; index++)
      this.#members.push({ ...this.#instanceOf(index), consumerId: this.#name(), held: [] });
  }

  async close(): Promise<void> {
    for (const { rheo } of this.#instances) await rheo.close();
  }

  /** Everything goes wrong. */
  async rage(): Promise<void> {
    for (let step = 0; step < this.#options.steps; step++) {
      await this.#step();
      if (step % 16 === 0) await this.#checkFrontier();
    }
    while (this.#appended < this.#options.events) await this.#append();
  }

  /** Only poison kills, and everything must drain. */
  async calm(): Promise<void> {
    for (const ghost of this.#ghosts.splice(0)) await this.#late(ghost);
    for (let round = 0; round < CALM_ROUNDS; round++) {
      let worked = false;
      for (const member of this.#members) {
        if (member.held.length === 0) await this.#fetch(member);
        worked ||= member.held.length > 0;
        while (member.held.length > 0) await this.#work(member, ack());
      }
      if (worked) continue;
      if ((await this.#any().rheo.lag(STREAM, GROUP)).lag === 0) break;
      this.#clock.advance(LEASE_MS / 2);
    }
    await this.#checkFrontier();
    await this.#checkEnd();
  }

  result(): StormResult {
    const counts = { ...this.#witness.counts, crashes: this.#deaths.size, lateSettles: this.#lateSettles };
    return { violations: [...this.#violations, ...this.#witness.violations], counts };
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const member = random.pick(this.#members);
    const drawn = random.next();
    if (drawn < 0.2 && this.#appended < this.#options.events) await this.#append();
    else if (drawn < 0.45) await this.#fetch(member, random.chance(0.1));
    else if (drawn < 0.75) await this.#work(member, this.#outcome(member), random.chance(0.1));
    else if (drawn < 0.8) this.#die(member, null);
    else if (drawn < 0.87) await this.#ghost();
    else if (drawn < 0.92) await this.#renew(member);
    else this.#clock.advance(random.pick([1, 50, LEASE_MS / 2, LEASE_MS, LEASE_MS * 2]));
  }

  async #append(): Promise<void> {
    const number = this.#appended++;
    const event = await this.#any().rheo.append(STREAM, {
      payload: { number },
      id: `e${number}`,
      partition: this.#random.below(this.#options.partitions),
    });
    if (this.#options.poison.has(number)) this.#poison.add(`${event.partition}/${event.sequence}`);
  }

  /** Holding more than it works on, as members with a prefetch do. `lost`: the answer never arrives. */
  async #fetch(member: Member, lost = false): Promise<void> {
    if (lost) member.faults.failNext("exchange", "lost");
    try {
      member.held.push(
        ...(await member.rheo.fetch(STREAM, GROUP, { limit: 1 + this.#random.below(8), consumerId: member.consumerId })),
      );
    } catch (error) {
      if (!RheoError.is(error, "outcome_unknown")) throw error;
    }
  }

  #outcome(member: Member): Outcome {
    const attempt = member.held[0]?.attempt ?? 1;
    const drawn = this.#random.next();
    if (drawn < 0.1 && attempt < this.#options.maxAttempts - 1) return retry("busy", { delayMs: this.#random.below(LEASE_MS) });
    return drawn < 0.15 ? release() : ack();
  }

  /** Works on the first lease held. `lost`: the answer to its settle never arrives, and the member asks again or dies. */
  async #work(member: Member, outcome: Outcome, lost = false): Promise<void> {
    const lease = member.held.shift();
    if (lease === undefined) return;
    if (this.#poison.has(placeOf(lease))) {
      if (lease.expiresAt.getTime() <= this.#clock.now()) return; // no member starts on a lease that it knows has run out
      member.held.unshift(lease);
      return this.#die(member, placeOf(lease));
    }
    if (lost) member.faults.failNext("exchange", this.#random.chance(0.7) ? "lost" : "refused");
    try {
      await this.#settle(member.rheo, lease, outcome);
    } catch (error) {
      if (!RheoError.is(error, "outcome_unknown") && !RheoError.is(error, "unavailable")) throw error;
      if (this.#random.chance(0.5)) await this.#settle(member.rheo, lease, outcome);
      else {
        member.held.unshift(lease);
        this.#die(member, null);
      }
    }
  }

  /** A settle is accepted if and only if nobody has claimed the delivery since. */
  async #settle(rheo: Rheo, lease: Lease, outcome: Outcome): Promise<void> {
    const expected = this.#witness.isCurrent(lease);
    const [answer] = await rheo.settle([{ lease, outcome }]);
    if ((answer?.status === "settled") !== expected)
      this.#violations.push(`a settle of ${placeOf(lease)} was ${answer?.status}, expected ${expected ? "settled" : "stale"}`);
  }

  #die(member: Member, poison: string | null): void {
    this.#deaths.set(member.consumerId, { poison, atMs: this.#clock.now() });
    this.#ghosts.push(...member.held);
    member.held = [];
    member.consumerId = this.#name();
  }

  /** One of the dead comes back. */
  async #ghost(): Promise<void> {
    if (this.#ghosts.length === 0) return;
    const [ghost] = this.#ghosts.splice(this.#random.below(this.#ghosts.length), 1);
    if (ghost !== undefined) await this.#late(ghost);
  }

  async #late(ghost: Lease): Promise<void> {
    if (this.#poison.has(placeOf(ghost))) return; // its holder died of it before it could settle
    this.#lateSettles += 1;
    const { rheo } = this.#any();
    if (this.#random.chance(0.2)) {
      await rheo.renewMany([ghost]);
      this.#ghosts.push(ghost);
      return;
    }
    const outcomes = [
      ack(),
      ack(),
      release(),
      ...(ghost.attempt < this.#options.maxAttempts - 1 ? [retry("late", { delayMs: 10 })] : []),
    ];
    if (!this.#witness.isCurrent(ghost)) outcomes.push(reject("late"));
    await this.#settle(rheo, ghost, this.#random.pick(outcomes));
  }

  async #renew(member: Member): Promise<void> {
    const expected = member.held.map((lease) => this.#witness.isCurrent(lease));
    const answers = await member.rheo.renewMany(member.held);
    member.held = member.held.flatMap((lease, index) => {
      const answer = answers[index];
      return answer?.status === "renewed" ? [{ ...lease, expiresAt: answer.expiresAt }] : [];
    });
    const wrong = answers.findIndex((answer, index) => (answer.status === "renewed") !== expected[index]);
    if (wrong !== -1) this.#violations.push(`a renewal was ${answers[wrong]?.status}, against what the tokens say`);
  }

  async #checkFrontier(): Promise<void> {
    const { partitions } = await this.#any().rheo.lag(STREAM, GROUP);
    for (const { partition, frontier } of partitions) {
      const expected = this.#witness.frontier(partition);
      if (frontier !== expected) this.#violations.push(`the frontier of ${partition} is ${frontier}, expected ${expected}`);
    }
  }

  /** No event lost, none finished twice, one dead letter per poison, and nobody condemned for another's crash. */
  async #checkEnd(): Promise<void> {
    const { rheo } = this.#any();
    const { lag } = await rheo.lag(STREAM, GROUP);
    if (lag !== 0) this.#violations.push(`the group did not drain: lag ${lag}`);
    const stored = (await rheo.query(STREAM, { limit: 10_000 })).map(placeOf);
    const finished = [...this.#witness.finished("acked"), ...this.#witness.finished("dead")];
    if (stored.length !== this.#options.events || new Set(finished).size !== stored.length)
      this.#violations.push(`${stored.length} stored, ${finished.length} finished`);
    const letters = (await rheo.deadLetters(STREAM, GROUP, { limit: 1_000 })).map(placeOf);
    if (letters.length !== new Set(letters).size) this.#violations.push("a delivery has two dead letters");
    if ([...letters].sort().join() !== [...this.#witness.finished("dead")].sort().join())
      this.#violations.push("dead letters are not what died");
    for (const place of this.#poison)
      if (!letters.includes(place)) this.#violations.push(`the poison ${place} has no dead letter`);
    for (const { place, consumerId, expiresAtMs } of this.#witness.condemned) {
      const death = this.#deaths.get(consumerId);
      if (death === undefined || death.poison === null || death.atMs >= expiresAtMs) continue; // its own lease ran out
      if (death.poison !== place) this.#violations.push(`${place} was condemned for the crash of ${death.poison}`);
    }
  }

  #any(): { readonly rheo: Rheo; readonly faults: Flaky } {
    return this.#random.pick(this.#instances);
  }

  #instanceOf(index: number): { readonly rheo: Rheo; readonly faults: Flaky } {
    return this.#instances[index % this.#instances.length] ?? this.#any();
  }

  #name(): string {
    return `m${this.#born++}`;
  }
}

const placeOf = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
  `${partition}/${sequence}`;
