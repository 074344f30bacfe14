/**
 * Runs handlers in worker threads. A session on a free thread begins with a slice, and is given further ones when it asks; what
 * becomes of each delivery is read from the memory shared with that thread, while it is out and when it is over. When a thread
 * dies, what had finished is settled as it finished, what had not begun goes out again at once and uncharged, and what ran is
 * judged (`thread-death.ts`). Timeouts are in `thread-times.ts`.
 */
import type { Outcome } from "@rheo/core";
import type { TaskEnd } from "../pool/pool.ts";
import { type ExtendMessage, MAX_SLICE } from "../pool/protocol.ts";
import { Session, type Suspect } from "../pool/session.ts";
import { SliceSizer } from "../pool/sizer.ts";
import { pack, Slice } from "../pool/slice.ts";
import type { Feeder, Slots } from "../pool/slots.ts";
import { waitAtMost } from "../time-limit.ts";
import { Batcher } from "./batcher.ts";
import { type Batch, LOST, type Place } from "./ledger.ts";
import {
  INTERRUPT_GRACE_MS,
  LOST_GRACE_MS,
  type Runner,
  type RunnerHost,
  SETUP_MS,
  settleOutcome,
  tellTimeout,
  timeoutOutcome,
} from "./runner.ts";
import { type At, crashOutcome, judge, leftoversOf } from "./thread-death.ts";
import { ENDED_BY_STOP, kill, ThreadTimes } from "./thread-times.ts";

/** Threads that died in a row without having begun anything: then the group fails, and its supervisor backs off. */
const MAX_BARREN_DEATHS = 5;
/** A slice that is out for longer turned out to be too large: what it has not begun goes to whoever is free. */
const OVERLONG_MS = 100;
const RELEASED: Outcome = { kind: "release" };

/** What a slice is made of. */
interface Load {
  readonly places: readonly Place[];
  readonly batches: readonly number[] | null;
}

export class ThreadRunner implements Runner, Feeder {
  readonly #host: RunnerHost;
  readonly #slots: Slots;
  readonly #module: string;
  readonly #batcher: Batcher | null;
  readonly #isRun: boolean;
  readonly #times: ThreadTimes;
  readonly #sizer = new SliceSizer();
  readonly #sessions = new Set<Session>();
  /** Each goes out alone; those of a run one after another. */
  #suspects: Suspect[] = [];
  #deaths = 0;
  #barrenDeaths = 0;
  #stopped = false;

  constructor(host: RunnerHost, slots: Slots, module: string) {
    this.#host = host;
    this.#slots = slots;
    this.#module = module;
    this.#times = new ThreadTimes(host, slots);
    const { batch } = host.consumer;
    this.#isRun = batch?.by != null;
    this.#batcher = batch === null ? null : new Batcher(host, batch, () => this.pump());
  }

  start(): Promise<void> {
    this.#slots.join(this);
    return Promise.resolve(); // the pool has probed the module
  }

  pump(): void {
    if (this.#hasWork()) this.#slots.want(this);
  }

  get wantsThread(): boolean {
    return this.#hasWork() && this.#roomForHandlers() > 0;
  }

  feed(free: number): boolean {
    if (!this.wantsThread) return false;
    const limit = Math.min(this.#roomForHandlers(), Math.ceil(this.#host.consumer.concurrency / this.#slots.threads));
    if (this.#suspects.length > 0) return this.#feedSuspect();
    const handlers = limit * (this.#host.consumer.batch?.size ?? 1);
    const load = this.#take(this.#sizer.size(this.#host.ledger.unstarted, free, handlers));
    if (load.places.length === 0) return false;
    this.#open(load, limit, null);
    return true;
  }

  topUp(sinceMs: number): void {
    for (const session of this.#sessions) {
      if (session.isHungry && session.openedAtMs > sinceMs && !session.killed && session.suspect === null) this.#add(session);
    }
  }

  hungry(id: number): boolean {
    for (const session of this.#sessions) {
      if (session.id !== id) continue;
      session.isHungry = true;
      for (const slice of session.slices) this.#collect(session, slice);
      return true;
    }
    return false;
  }

  giveWay(): void {} // handing slices out takes no time

  recall(): void {
    for (const slice of this.#slices()) this.#returnAll(slice.cancelQueued().map((index) => slice.placeAt(index)));
    this.#returnAll(this.#suspects.splice(0).map(({ place }) => place));
  }

  abort(batch: Batch, index: number, reason: Error): void {
    for (const session of this.#sessions) {
      for (const slice of session.slices) {
        const at = slice.indexOf(batch, index);
        if (at < 0) continue;
        if (slice.cancel(at)) this.#returnAll([slice.placeAt(at)]);
        else this.#times.abort(session, slice, [at], { cause: "lost", reason, graceMs: LOST_GRACE_MS });
        return;
      }
    }
    const at = this.#suspects.findIndex(({ place }) => place.batch === batch && place.index === index);
    if (at >= 0) this.#returnAll(this.#suspects.splice(at, 1).map(({ place }) => place));
  }

  interrupt(): void {
    this.recall();
    const reason = new Error("The consumer is stopping: the time for its drain is over.");
    for (const session of this.#sessions) {
      for (const slice of session.slices) {
        const running = slice.runningNow();
        for (const at of running) {
          const { batch, index } = slice.placeAt(at);
          this.#host.ledger.interrupt(batch, index);
        }
        this.#times.abort(session, slice, running, { cause: "interrupted", reason, graceMs: INTERRUPT_GRACE_MS });
      }
    }
  }

  details(): Readonly<Record<string, number>> {
    return {
      handlers: [...this.#slices()].reduce((sum, slice) => sum + slice.runningNow().length, 0),
      threads: this.#sessions.size,
      slices: [...this.#slices()].length,
      suspects: this.#suspects.length,
      deaths: this.#deaths,
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#batcher?.stop();
    await Promise.all([...this.#sessions].map((session) => this.#finish(session)));
    this.#slots.leave(this);
  }

  /** A thread that has done its work and is about to say so keeps its life, and its teardown. */
  async #finish(session: Session): Promise<void> {
    const { clock } = this.#host.internals;
    const hasEnded = session.isDone && (await waitAtMost(clock, INTERRUPT_GRACE_MS, session.running.ended));
    if (!hasEnded) kill(session, ENDED_BY_STOP);
    await session.running.ended;
  }

  fail(error: Error): void {
    this.#host.fail(error);
  }

  peek(nowMs: number): void {
    for (const session of this.#sessions) {
      let isFirst = true;
      for (const slice of session.slices) {
        this.#collect(session, slice);
        this.#times.check(session, slice, nowMs);
        this.#checkProgress(session, slice, nowMs - slice.sentAtMs, isFirst && session.announced === 1);
        isFirst = false;
      }
    }
  }

  extend({ slice: id, index, ms }: ExtendMessage): void {
    for (const slice of this.#slices()) {
      if (slice.id !== id) continue;
      slice.extend(index, this.#monotonic() + ms);
      this.#host.renew();
    }
  }

  // Sessions and slices

  #hasWork(): boolean {
    return !this.#stopped && (this.#host.ledger.unstarted > 0 || this.#suspects.length > 0);
  }

  *#slices(): Generator<Slice, void, void> {
    for (const session of this.#sessions) yield* session.slices;
  }

  #roomForHandlers(): number {
    let room = this.#host.consumer.concurrency;
    for (const session of this.#sessions) room -= session.limit;
    return room;
  }

  /** Starts deliveries for the next slice, about so many; none when none may start now. */
  #take(wanted: number): Load {
    const { ledger, admission } = this.#host;
    if (this.#batcher !== null) return this.#takeBatches(this.#batcher, wanted);
    const front = ledger.front();
    if (front === null || !this.#host.mayStart(front)) return { places: [], batches: null };
    const limit = Math.min(ledger.unstarted, wanted);
    const allowed = admission === null ? limit : admission.reserve(limit);
    const places = ledger.takeMany(allowed);
    admission?.letThrough(places[0]);
    admission?.started(places.length, allowed);
    return { places, batches: null };
  }

  #takeBatches(batcher: Batcher, wanted: number): Load {
    const places: Place[] = [];
    const batches: number[] = [];
    const { size } = batcher;
    while (batches.length === 0 || (places.length < wanted && places.length + size <= MAX_SLICE)) {
      const batch = batcher.take();
      if (batch.length === 0) break;
      places.push(...batch);
      batches.push(batch.length);
    }
    return { places, batches };
  }

  /** Those of a run that has killed its thread go one after another, so that the first that fails ends the run. */
  #feedSuspect(): boolean {
    const { admission } = this.#host;
    if (this.#isRun && [...this.#sessions].some(({ suspect }) => suspect !== null)) return false;
    if (admission !== null && admission.reserve(1) === 0) return false;
    const suspect = this.#suspects.shift();
    if (suspect === undefined) return false;
    admission?.letThrough(suspect.place);
    admission?.started(1, 1);
    const { batch, index } = suspect.place;
    if (batch.states[index] === LOST) this.#returnAll([suspect.place]);
    else this.#open({ places: [suspect.place], batches: this.#batcher === null ? null : [1] }, 1, suspect);
    return true;
  }

  #open({ places, batches }: Load, limit: number, suspect: Suspect | null): void {
    const { stream, group, timeoutMs } = this.#host.consumer;
    const isTimed = this.#host.times.isHeard;
    if (suspect === null) this.#host.started(places.length);
    const opened = this.#slots.open(
      { module: this.#module, stream, group, limit, isRun: this.#isRun, timeoutMs },
      { ...pack(places), batches, hungryAt: this.#hungryAt(), isTimed },
    );
    const session = new Session(opened, limit, this.#monotonic(), suspect);
    session.slices.add(new Slice(opened.slice, places, batches, session.openedAtMs, isTimed));
    this.#sessions.add(session);
    void session.running.ended
      .then((end) => this.#ended(session, end))
      .catch((cause: unknown) => this.#host.fail(cause instanceof Error ? cause : new Error(String(cause))));
  }

  /** Calls that a thread gets through in a moment; 0 for slow handlers, of which nothing is sent that another thread could begin. */
  #ahead(): number {
    const calls = (this.#sizer.perSlice ?? 0) / (this.#host.consumer.batch?.size ?? 1);
    return calls >= MIN_AHEAD ? Math.floor(calls) : 0;
  }

  /** Before a thread has nothing to begin, if there is more for it already. */
  #hungryAt(): number {
    const ahead = this.#ahead();
    return ahead === 0 || this.#host.ledger.unstarted === 0 ? -1 : Math.floor(ahead / 2);
  }

  #add(session: Session): void {
    const { unstarted } = this.#host.ledger;
    const calls = this.#ahead() || session.idle;
    if (unstarted === 0 || calls === 0 || !this.#slots.reaches(session)) return;
    const wanted = Math.min(MAX_SLICE, calls * (this.#host.consumer.batch?.size ?? 1));
    const { places, batches } = this.#take(Math.min(wanted, Math.ceil(unstarted / this.#sessions.size)));
    if (places.length === 0) return;
    session.isHungry = false;
    if (!session.gate.announce(session.announced)) return this.#takeBack(places);
    session.announced += 1;
    this.#host.started(places.length);
    const isTimed = this.#host.times.isHeard;
    const sent = this.#slots.add(session, { ...pack(places), batches, hungryAt: this.#hungryAt(), isTimed });
    session.slices.add(new Slice(sent, places, batches, this.#monotonic(), isTimed));
  }

  /** The session has just ended, so that they go elsewhere. */
  #takeBack(places: readonly Place[]): void {
    for (const place of places) this.#giveBack(place);
    this.pump();
  }

  #checkProgress(session: Session, slice: Slice, ageMs: number, isLoading: boolean): void {
    if (ageMs <= OVERLONG_MS) return;
    if (!isLoading || slice.hasBegun) return this.#shorten(slice);
    if (ageMs <= SETUP_MS) return;
    const { stream, group } = this.#host.consumer;
    kill(session, `its setup did not end within ${SETUP_MS} ms`);
    this.#host.fail(new Error(`The setup of ${stream}/${group} did not end within ${SETUP_MS} ms.`));
  }

  #shorten(slice: Slice): void {
    const cancelled = slice.cancelQueued();
    if (cancelled.length === 0) return;
    this.#returnAll(cancelled.map((index) => slice.placeAt(index)));
    this.pump();
  }

  #collect(session: Session, slice: Slice): void {
    let ended = 0;
    let dropped = 0;
    slice.collect((index) => {
      ended += 1;
      if (!this.#settle(session, { slice, index }, this.#outcomeOf(slice, index), false)) dropped += 1;
    });
    this.#host.times.flush();
    if (slice.isDone) this.#retire(session, slice);
    if (ended === 0) return;
    this.#barrenDeaths = 0;
    this.#host.ended(ended, dropped);
  }

  /** All has been heard of it. */
  #retire(session: Session, slice: Slice): void {
    if (!session.slices.delete(slice)) return;
    const { memory } = slice;
    const tookMs = slice.wasCut ? this.#monotonic() - slice.sentAtMs : memory.tookUs / 1_000;
    this.#sizer.onSlice(slice.executed, tookMs, memory.peak);
    if (slice.wasCut || session.gateMemory === memory) session.retired.push(memory);
    else this.#slots.recycle(memory);
  }

  /** After a timeout an ack still counts; any failure then is the timeout's. */
  #outcomeOf(slice: Slice, index: number): Outcome {
    const outcome = slice.memory.outcomeAt(index);
    if (!slice.isLate(index) || outcome.kind === "ack") return outcome;
    return this.#isRun && outcome.kind === "release" ? outcome : this.#verdict({ slice, index }, "");
  }

  #ended(session: Session, end: TaskEnd): void {
    this.#sessions.delete(session);
    const slices = [...session.slices];
    for (const slice of slices) this.#collect(session, slice);
    this.#slots.closed();
    if (end.kind === "died") this.#died(session, end.threadId, end.reason);
    else this.#answered(session, end.answer.ok ? null : end.answer.reason);
    this.pump();
    this.#slots.pump();
  }

  #answered(session: Session, failure: string | null): void {
    for (const memory of session.retired) this.#slots.recycle(memory);
    const { running, queued } = leftoversOf(session);
    this.#returnAll([...running, ...queued].map(placeOf));
    if (failure === null) return;
    const { stream, group } = this.#host.consumer;
    this.#host.fail(new Error(`The handler of ${stream}/${group} could not be set up: ${failure}`));
  }

  // Deaths

  #died(session: Session, threadId: number, reason: string): void {
    const { running, queued } = leftoversOf(session);
    const { guilty, suspects, innocent, released } = judge(session, running, this.#isRun);
    // while the breaker is not closed nothing but a probe is to start
    const [tried, returned] = this.#host.admission?.isClosed === false ? [[], suspects] : [suspects, []];
    this.#suspects.push(...tried.map(({ slice, index }) => ({ place: slice.placeAt(index), call: slice.callAt(index) })));
    for (const at of guilty) this.#charge(session, at, reason);
    this.#releaseAll(released.map(placeOf));
    this.#returnAll([...innocent, ...returned, ...queued].map(placeOf));
    this.#deaths += 1;
    const redispatched = running.length - guilty.length + queued.length;
    this.#host.internals.emit("thread.died", { threadId, reason, charged: guilty.length, redispatched });
    this.#countBarren(running.length === 0 && !session.killed, reason);
  }

  #verdict({ slice, index }: At, reason: string): Outcome {
    const place = slice.placeAt(index);
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs === null || !slice.isLate(index)) return crashOutcome(place, reason);
    tellTimeout(this.#host, place.batch, place.index, timeoutMs);
    return timeoutOutcome(timeoutMs);
  }

  #countBarren(isBarren: boolean, reason: string): void {
    this.#barrenDeaths = isBarren ? this.#barrenDeaths + 1 : 0;
    if (this.#barrenDeaths < MAX_BARREN_DEATHS) return;
    const { stream, group } = this.#host.consumer;
    this.#host.fail(new Error(`${MAX_BARREN_DEATHS} threads in a row died before ${stream}/${group} began an event: ${reason}`));
  }

  #charge(session: Session, at: At, reason: string): void {
    const endedItsThread = !at.slice.isLate(at.index);
    this.#host.ended(1, this.#settle(session, at, this.#verdict(at, reason), endedItsThread) ? 0 : 1);
    this.#host.times.flush();
  }

  #settle(session: Session, { slice, index }: At, outcome: Outcome, mustCharge: boolean): boolean {
    const place = slice.placeAt(index);
    if (slice.isTimed) {
      const { beganAtMs, tookMs } = slice.timeAt(index, this.#monotonic());
      this.#host.times.add(place.batch, place.index, outcome.kind, beganAtMs, tookMs);
    }
    if (outcome.kind !== "ack" && session.suspect !== null) this.#releaseRest(session.suspect);
    return settleOutcome(this.#host, place.batch, place.index, outcome, mustCharge);
  }

  /** One of a run whose thread died has failed by itself: what follows it in the run goes back. */
  #releaseRest({ call }: Suspect): void {
    const rest = this.#isRun ? this.#suspects.filter((suspect) => suspect.call === call) : [];
    if (rest.length === 0) return;
    this.#suspects = this.#suspects.filter((suspect) => suspect.call !== call);
    this.#releaseAll(rest.map(({ place }) => place));
  }

  #releaseAll(places: readonly Place[]): void {
    let dropped = 0;
    for (const { batch, index } of places) if (!settleOutcome(this.#host, batch, index, RELEASED)) dropped += 1;
    if (places.length > 0) this.#host.ended(places.length, dropped);
  }

  /** They are held again; where runs keep the order of the group they go back to the store, as what was before them may still run. */
  #returnAll(places: readonly Place[]): void {
    if (this.#host.keepsRuns()) return this.#releaseAll(places);
    let dropped = 0;
    for (const place of places) if (!this.#giveBack(place)) dropped += 1;
    if (places.length > 0) this.#host.returned(places.length, dropped);
  }

  #giveBack({ batch, index }: Place): boolean {
    this.#host.admission?.returned(batch, index);
    return this.#host.ledger.giveBack(batch, index);
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }
}

const placeOf = ({ slice, index }: At): Place => slice.placeAt(index);

/** Calls that a thread must get through in the time of a slice before any are sent ahead of free handlers. */
const MIN_AHEAD = 2;
