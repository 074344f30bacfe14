/** What each event adds to which counter: by how many events or deliveries it tells of, not by how often it is told. */
import { RheoError } from "@rheo/core";
import type { CounterName } from "./catalogue/counters.ts";
import { type LabelSets, NO_LABELS } from "./labels.ts";
import type { Listeners } from "./listening.ts";
import type { Recorder } from "./recorder.ts";
import { type ChildLabels, childLabels } from "./supervised.ts";
import { deathClass } from "./thread-death.ts";

export const counting = (sets: LabelSets, recorder: Recorder): Listeners => {
  const tally = new Tally(sets, recorder);
  return { ...ofLog(tally), ...ofDeliveries(tally), ...ofFailures(tally), ...ofRuntime(tally) };
};

interface InGroup {
  readonly stream: string;
  readonly group: string;
}

const ofLog = (tally: Tally): Listeners => ({
  "event.appended": ({ stream, count, duplicates }) => {
    tally.inStream("appended", stream, count);
    tally.inStream("duplicates", stream, duplicates);
  },
  "retention.swept": ({ stream, archived }) => tally.inStream("archived", stream, archived),
  "stream.trimmed": ({ stream, removed }) => tally.inStream("trimmed", stream, removed),
});

const ofDeliveries = (tally: Tally): Listeners => ({
  "lease.granted": (event) => {
    tally.inGroup("leased", event, event.count);
    tally.inGroup("redelivered", event, event.redelivered);
  },
  "lease.settled": (event) => {
    for (const state of ["acked", "retrying", "dead", "released"] as const)
      tally.by("settled", event, "state", state, event[state]);
  },
  "lease.renewed": (event) => tally.inGroup("renewed", event, event.count),
  "lease.stale": (event) => tally.by("stale", event, "why", event.why, 1),
  "lease.lost": (event) => tally.by("lost", event, "why", event.why, 1),
  "dead_letter.created": (event) => tally.inGroup("deadLettered", event, 1),
  "dead_letter.purged": (event) => tally.inGroup("purged", event, event.purged),
  "dead_letter.redriven": (event) => tally.by("reopened", event, "by", "redrive", event.reopened),
  "group.replayed": (event) => tally.by("reopened", event, "by", "replay", event.reopened),
  "group.reset": (event) => tally.by("reopened", event, "by", "reset", event.reopened),
  "handler.failed": (event) => tally.by("handlerFailures", event, "outcome", event.outcome, 1),
  "handler.timed_out": (event) => tally.inGroup("handlerTimeouts", event, 1),
});

const ofFailures = (tally: Tally): Listeners => ({
  "fetch.failed": (event) => tally.storeFailure(event, "fetch", event.error),
  "settle.failed": (event) => tally.storeFailure(event, "settle", event.error),
  "renew.failed": (event) => tally.storeFailure(event, "renew", event.error),
  "assignment.failed": (event) => tally.storeFailure(event, "assign", event.error),
  "retention.failed": ({ stream, error }) => tally.storeFailure({ stream, group: "" }, "sweep", error),
  "breaker.opened": (event) => tally.inGroup("breakerOpened", event, 1),
  "partition.assigned": (event) => tally.by("partitionMoves", event, "why", "assigned", 1),
  "partition.released": (event) => tally.by("partitionMoves", event, "why", "released", 1),
  "partition.lost": (event) => tally.by("partitionMoves", event, "why", "lost", 1),
});

const ofRuntime = (tally: Tally): Listeners => ({
  "thread.started": () => tally.plain("threadsStarted", 1),
  "thread.died": ({ reason, charged, redispatched }) => {
    tally.threadDeath(reason);
    tally.plain("charged", charged);
    tally.plain("redispatched", redispatched);
  },
  "child.failed": ({ child }) => tally.ofChild("childFailures", childLabels(child)),
  "child.restarting": ({ child }) => tally.ofChild("restarts", childLabels(child)),
  "supervisor.escalated": ({ child }) => tally.ofChild("escalations", childLabels(child)),
});

/** Finds the labels. What adds nothing makes no series. */
class Tally {
  readonly #sets: LabelSets;
  readonly #recorder: Recorder;

  constructor(sets: LabelSets, recorder: Recorder) {
    this.#sets = sets;
    this.#recorder = recorder;
  }

  plain(metric: CounterName, by: number): void {
    if (by > 0) this.#recorder.add(metric, NO_LABELS, by);
  }

  inStream(metric: CounterName, stream: string, by: number): void {
    if (by > 0) this.#recorder.add(metric, this.#sets.ofStream(stream), by);
  }

  inGroup(metric: CounterName, { stream, group }: InGroup, by: number): void {
    if (by > 0) this.#recorder.add(metric, this.#sets.ofGroup(stream, group), by);
  }

  by(metric: CounterName, { stream, group }: InGroup, name: "state" | "why" | "by" | "outcome", value: string, by: number): void {
    if (by > 0) this.#recorder.add(metric, this.#sets.with(this.#sets.ofGroup(stream, group), name, value), by);
  }

  storeFailure({ stream, group }: InGroup, call: string, error: Error): void {
    const labels = this.#sets.with(this.#sets.of(stream, group), "call", call);
    this.#recorder.add("storeFailures", this.#sets.with(labels, "code", RheoError.is(error) ? error.code : "other"), 1);
  }

  threadDeath(reason: string): void {
    this.#recorder.add("threadDeaths", this.#sets.with(NO_LABELS, "why", deathClass(reason)), 1);
  }

  ofChild(metric: CounterName, { kind, stream, group }: ChildLabels): void {
    this.#recorder.add(metric, this.#sets.with(this.#sets.of(stream, group), "kind", kind), 1);
  }
}
