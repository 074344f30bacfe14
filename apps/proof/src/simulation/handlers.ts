/** What handlers do in a simulation, by the fate of each event, and what is seen of it from outside. */
import { ack, type Event, type Outcome, reject, retry } from "@rheo/core";
import type { DefinedHandler, HandlerContext } from "@rheo/runtime";
import { batchHandler, handler } from "@rheo/runtime/handler";
import type { Counts } from "./counts.ts";
import type { HostClock } from "./host-clock.ts";
import type { Fate, GroupPlan } from "./plan.ts";
import type { Watch } from "./watch.ts";

/** Where a handler runs: a process, or one of its threads. */
export interface Room {
  readonly clock: HostClock;
  killThread(): void;
  killProcess(): void;
}

interface Run {
  readonly partition: number;
  readonly sequence: number;
  readonly place: string;
  readonly lane: string | null;
  readonly token: number;
  readonly room: Room;
}

export class Handlers {
  readonly #watch: Watch;
  readonly #fates: readonly Fate[];
  readonly #counts: Counts;
  /** Handlers that run now, by group. */
  readonly #running = new Map<string, Set<Run>>();
  /** How often the work on an event has failed, by group and number. */
  readonly #failures = new Map<string, number>();

  constructor(watch: Watch, fates: readonly Fate[], counts: Counts) {
    this.#watch = watch;
    this.#fates = fates;
    this.#counts = counts;
  }

  /** The handler of a group in one room. */
  of(plan: GroupPlan, room: Room): DefinedHandler {
    if (plan.batch === null) return handler((event, context) => this.#handle(plan, room, event, context));
    return batchHandler((events, { deliveries }) => {
      const results = events.map((event, index) => {
        const context = deliveries[index];
        if (context === undefined) throw new TypeError("a batch has fewer contexts than events");
        return settled(() => this.#handle(plan, room, event, context));
      });
      return Promise.all(results);
    });
  }

  /** Handlers of rooms that are still there. */
  runningIn(isThere: (room: Room) => boolean): number {
    return [...this.#running.values()].flatMap((runs) => [...runs]).filter(({ room }) => isThere(room)).length;
  }

  #handle(plan: GroupPlan, room: Room, event: Event, context: HandlerContext): Outcome | Promise<Outcome> {
    if (room.clock.isDead) return never();
    const n = Number(Reflect.get(Object(event.payload), "n"));
    const run = this.#begin(plan, room, event, context);
    const fate = this.#fates[n] ?? { kind: "ack", ms: 0 };
    const end = (outcome: Outcome): Outcome => this.#end(plan, run, outcome);
    switch (fate.kind) {
      case "ack":
        return fate.ms === 0 ? end(ack()) : sleep(room, fate.ms).then(() => end(ack()));
      case "fails":
        return this.#fail(plan, run, fate, n, end);
      case "reject":
        return end(reject("no good"));
      case "hangs":
        return new Promise((_, fail) => {
          context.signal.addEventListener("abort", () => {
            end(retry("aborted"));
            fail(context.signal.reason);
          });
        });
      case "extends":
        context.extend(fate.ms + 50);
        return sleep(room, fate.ms).then(() => end(ack()));
      case "kills thread":
        if (plan.execution === "inline") return end(retry("would have ended its thread"));
        this.#counts.poisonedThreads += 1;
        room.killThread();
        return never();
      case "kills process":
        this.#counts.poisonedProcesses += 1;
        room.killProcess();
        return never();
      default:
        return fate satisfies never;
    }
  }

  #fail(
    plan: GroupPlan,
    run: Run,
    fate: Extract<Fate, { kind: "fails" }>,
    n: number,
    end: (outcome: Outcome) => Outcome,
  ): Promise<Outcome> {
    return sleep(run.room, fate.ms).then(() => {
      const name = `${plan.name}/${n}`;
      const failures = (this.#failures.get(name) ?? 0) + 1;
      this.#failures.set(name, failures);
      if (failures > fate.times) return end(ack());
      const outcome = end(retry("not yet"));
      if (fate.how === "throw") throw new Error("not yet");
      return outcome;
    });
  }

  #begin(plan: GroupPlan, room: Room, { partition, sequence, key }: Event, { token }: HandlerContext): Run {
    this.#counts.handlersStarted += 1;
    const lane = plan.ordering === "none" ? null : plan.ordering === "partition" ? "" : key;
    const run: Run = {
      partition,
      sequence,
      place: `${partition}/${sequence}`,
      lane: lane === null ? null : `${partition}/${lane}`,
      token,
      room,
    };
    const runs = this.#running.get(plan.name) ?? new Set();
    this.#running.set(plan.name, runs);
    for (const other of runs) this.#checkAlone(plan, run, other);
    runs.add(run);
    return run;
  }

  /** Nobody else works under a live lease on this delivery, nor on one that comes before it in its lane (G2, G9). */
  #checkAlone(plan: GroupPlan, run: Run, other: Run): void {
    if (other.room.clock.isDead || !this.#isLive(plan, other) || !this.#isLive(plan, run)) return;
    if (other.place === run.place && other.token === run.token)
      this.#watch.fault(`two handlers of ${plan.name} work on ${run.place} under token ${run.token}`);
    // a batch is one call for several of its lane
    if (this.#watch.groups.get(plan.name)?.reopenedBetween(run.partition, run.token, other.token) === true) return;
    if (plan.batch === null && run.lane !== null && other.lane === run.lane && other.sequence < run.sequence)
      this.#watch.fault(`a handler of ${plan.name} begins ${run.place} while another works on ${other.place} of its lane (G9)`);
  }

  /** Whether a run holds a lease that is current and has not run out. */
  #isLive(plan: GroupPlan, run: Run): boolean {
    return this.#watch.groups.get(plan.name)?.witness.isLive(run) === true;
  }

  #end(plan: GroupPlan, run: Run, outcome: Outcome): Outcome {
    this.#running.get(plan.name)?.delete(run);
    this.#counts.handlersEnded += 1;
    if (outcome.kind === "retry") this.#counts.retries += 1;
    if (outcome.kind === "reject") this.#counts.rejects += 1;
    return outcome;
  }
}

const never = (): Promise<never> => new Promise(() => undefined);

const sleep = (room: Room, ms: number): Promise<void> => new Promise((resolve) => room.clock.later(ms, resolve));

/** A failure of one event of a batch is its outcome. */
const settled = async (work: () => Outcome | Promise<Outcome>): Promise<Outcome> => {
  try {
    return await work();
  } catch {
    return retry("failed in a batch");
  }
};
