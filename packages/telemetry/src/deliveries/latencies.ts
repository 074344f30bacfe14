/**
 * How long events wait and handlers take. Nobody's wall clock is compared with another's: the wait from the event's timestamp to its
 * lease is by the store's clock alone, and what comes after it is measured by this host's monotonic clock.
 */
import type { Rheo } from "@rheo/core";
import { internalsOf } from "@rheo/core/internal";
import type { LabelSets } from "../labels.ts";
import { listen } from "../listening.ts";
import type { Recorder } from "../recorder.ts";
import { Held, heldKey } from "./held.ts";

/** Records the times of deliveries from now on; the answer ends it. */
export const latencies = (rheo: Rheo, sets: LabelSets, recorder: Recorder): (() => void) => {
  const { clock } = internalsOf(rheo);
  /** When each delivery's event was appended, by the monotonic clock, in ms. */
  const appendedAtMs = new Held<number>(() => undefined);
  return listen(rheo.events, {
    "delivery.leased": ({ stream, group, grants }) => {
      const nowMs = clock.monotonic();
      for (const { partition, token, sequences, waitedMs } of grants) {
        const since = waitedMs.map((ms) => nowMs - ms);
        appendedAtMs.put(heldKey(stream, group, partition, token), sequences, since);
      }
    },
    "delivery.handled": ({ stream, group, handled }) => {
      const labels = sets.ofGroup(stream, group);
      const started = recorder.times("startLatency", labels);
      for (const { partition, token, attempt, outcome, sequences, beganAtMs, tookMs } of handled) {
        const ended = recorder.times("handlerTime", sets.with(labels, "outcome", outcome));
        for (const ms of tookMs) ended(ms / 1_000);
        if (attempt > 1) continue;
        const key = heldKey(stream, group, partition, token);
        for (const [at, sequence] of sequences.entries()) {
          const fromMs = appendedAtMs.get(key, sequence);
          if (fromMs !== undefined) started(Math.max(0, (beganAtMs[at] ?? fromMs) - fromMs) / 1_000);
        }
      }
    },
    "delivery.settled": ({ stream, group, settled }) => {
      const labels = sets.ofGroup(stream, group);
      const acked = recorder.times("ackLatency", labels);
      const nowMs = clock.monotonic();
      for (const { partition, token, sequences, states } of settled) {
        const key = heldKey(stream, group, partition, token);
        for (const [at, sequence] of sequences.entries()) {
          const fromMs = appendedAtMs.take(key, sequence);
          if (fromMs !== undefined && states[at] === "acked") acked((nowMs - fromMs) / 1_000);
        }
      }
    },
    "lease.stale": ({ stream, group, partition, token, sequence }) =>
      void appendedAtMs.take(heldKey(stream, group, partition, token), sequence),
  });
};
