/**
 * Looks at every stream and group in turns while somebody watches, once for all who do. A look at one group is a few reads, and other work
 * goes first between two of them. What was read last is what the overview shows, so that no page waits for a large store.
 */
import { type Clock, type Group, type Lag, type Rheo, RheoError, type Timer } from "@rheo/core";
import { isMissing } from "@rheo/core/internal";
import { type Problem, problemOf } from "../http/problem.ts";
import { nextTurn } from "../turn.ts";
import { pauseAfter } from "./pace.ts";
import { type GroupSample, groupSample, lookedAt, type Snapshot, type StreamSample, streamSample } from "./samples.ts";

/** Names that one listing gives, and so streams, and groups of a stream, that are looked at. */
const MOST_NAMES = 1_000;
/** Groups in all: a few megabytes of history. */
const MOST_GROUPS = 2_000;
const EVERY_MS = 2_000;
/** Counts of leases, retries and dead letters cost a store ten times what lag does, so they are not read each time. */
const COUNTS_MS = 4_500;
/** Nobody has watched for so long: the looks end. */
const UNWATCHED_MS = 10_000;
/** Pages wait for the first look this long from its beginning, in ms; what is not known then follows. */
const FIRST_LOOK_MS = 500;

export class Sampler {
  readonly #rheo: Rheo;
  readonly #clock: Clock;
  readonly #streams = new Map<string, StreamSample>();
  readonly #groups = new Map<string, GroupSample>();
  #problem: Problem | null = null;
  #isPartial = false;
  #watchedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;
  /** Resolves when there is something to show. */
  #firstLook: Promise<unknown> = Promise.resolve();
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(rheo: Rheo, clock: Clock) {
    this.#rheo = rheo;
    this.#clock = clock;
  }

  /** What is known: after the first look, or as much of it as a short wait brings. */
  async read(): Promise<Snapshot> {
    this.watch();
    await this.#firstLook;
    const streams = [...this.#streams.values()];
    return { streams, groups: [...this.#groups.values()], problem: this.#problem, isPartial: this.#isPartial };
  }

  /** Keeps the looks going for a while. */
  watch(): void {
    this.#watchedAtMs = this.#clock.monotonic();
    if (this.#looking !== null || this.#timer !== null || this.#isClosed) return;
    this.#firstLook = Promise.race([this.#look(), this.#shortWait()]);
  }

  stream(name: string): StreamSample | null {
    return this.#streams.get(name) ?? null;
  }

  group(stream: string, group: string): GroupSample | null {
    return this.#groups.get(keyOf(stream, group)) ?? null;
  }

  /** Idempotent; waits for a read that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    await this.#looking;
  }

  #look(): Promise<void> {
    const startMs = this.#clock.monotonic();
    const looked = this.#lookAround().then(
      () => null,
      (error: unknown) => problemOf(error),
    );
    const looking = looked.then((problem) => {
      this.#problem = problem;
      this.#looking = null;
      const nowMs = this.#clock.monotonic();
      if (!this.#isClosed && nowMs - this.#watchedAtMs < UNWATCHED_MS) this.#lookAgain(pauseAfter(nowMs - startMs, EVERY_MS));
    });
    this.#looking = looking;
    return looking;
  }

  #lookAgain(inMs: number): void {
    const again = (): void => {
      this.#timer = null;
      void this.#look();
    };
    this.#timer = this.#clock.schedule(inMs, again, { keepAlive: false });
  }

  async #lookAround(): Promise<void> {
    const streams = await this.#rheo.listStreams({ limit: MOST_NAMES });
    const found = new Set<string>();
    let isPartial = streams.length === MOST_NAMES;
    for (const { name } of streams) {
      const groups = await this.#lookAtStream(name, Math.min(MOST_NAMES, MOST_GROUPS - found.size));
      isPartial ||= groups.length === MOST_NAMES || found.size + groups.length === MOST_GROUPS;
      for (const group of groups) {
        const key = keyOf(name, group.name);
        found.add(key);
        this.#groups.set(key, groupSample(this.#groups.get(key), group));
      }
    }
    this.#isPartial = isPartial;
    keepOnly(this.#streams, new Set(streams.map(({ name }) => name)));
    keepOnly(this.#groups, found);
    for (const key of found) await this.#lookAtGroup(key);
  }

  /** Notes the stream, and gives its groups: none when it is gone. */
  async #lookAtStream(name: string, limit: number): Promise<readonly Group[]> {
    await this.#yieldOrEnd();
    const groups = await unlessGone(async () => {
      const info = await this.#rheo.streamInfo(name);
      this.#streams.set(name, streamSample(this.#streams.get(name), info, this.#clock.now()));
      return limit === 0 ? [] : this.#rheo.listGroups(name, { limit });
    });
    return groups ?? [];
  }

  async #lookAtGroup(key: string): Promise<void> {
    await this.#yieldOrEnd();
    const sample = this.#groups.get(key);
    if (sample === undefined) return;
    const { stream, name } = sample.group;
    const looked = await unlessGone(async () => {
      const lag = await this.#rheo.lag(stream, name);
      const atMs = this.#clock.now();
      if (atMs - sample.countedAtMs < COUNTS_MS && !contradicts(sample, lag)) return lookedAt(sample, lag, null, atMs);
      await this.#yieldOrEnd();
      return lookedAt(sample, lag, await this.#rheo.groupInfo(stream, name), atMs);
    });
    if (looked !== null) this.#groups.set(key, looked);
  }

  async #yieldOrEnd(): Promise<void> {
    await nextTurn();
    if (this.#isClosed) throw new RheoError("closed", "The dashboard is closed.");
  }

  #shortWait(): Promise<void> {
    return new Promise((resolve) => this.#clock.schedule(FIRST_LOOK_MS, resolve, { keepAlive: false }));
  }
}

/** There is something to do, and the counts are of a time when nobody was there or nothing was to be done: they cost little then. */
const contradicts = ({ info }: GroupSample, { lag }: Lag): boolean =>
  lag > 0 && info !== null && (info.lag === 0 || info.members.length === 0);

const keyOf = (stream: string, group: string): string => `${stream}/${group}`;

/** Null when the stream or group was deleted meanwhile. */
const unlessGone = async <Answer>(read: () => Promise<Answer>): Promise<Answer | null> => {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
};

const keepOnly = (samples: Map<string, unknown>, kept: ReadonlySet<string>): void => {
  for (const key of samples.keys()) if (!kept.has(key)) samples.delete(key);
};
