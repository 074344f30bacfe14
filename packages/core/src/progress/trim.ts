/** What a trim removes, and what that takes from a group (L10). */
import type { TrimRequest, Watermark } from "../backend.ts";
import { openSequences, withoutSequences } from "./ranges.ts";
import type { ProgressStore } from "./records.ts";
import { replaceLease } from "./writes.ts";

/** The last sequence that a cut removes, from the one before the first retained to the high watermark. `sequenceAtTime` as in {@link ProgressStore}. */
export const lastToTrim = (
  watermark: Pick<Watermark, "firstSequence" | "highWatermark">,
  cut: TrimRequest["cut"],
  sequenceAtTime: (timeMs: number) => number,
): number => {
  const { firstSequence, highWatermark } = watermark;
  return Math.min(highWatermark, Math.max(firstSequence - 1, rawCut(highWatermark, cut, sequenceAtTime)));
};

const rawCut = (highWatermark: number, cut: TrimRequest["cut"], sequenceAtTime: (timeMs: number) => number): number => {
  switch (cut.kind) {
    case "sequence":
      return cut.before - 1;
    case "time":
      return sequenceAtTime(cut.beforeMs) - 1;
    case "keep":
      return highWatermark - cut.last;
    default:
      return cut satisfies never;
  }
};

/** What a trim of everything up to `sequence` takes from a group: how many deliveries were open or not offered yet (L10). */
export const trimProgress = (store: ProgressStore, partition: number, sequence: number): number => {
  const head = store.head(partition);
  let lost = Math.max(0, sequence - head.cursor);
  for (const lease of store.leases(partition)) {
    const gone = openSequences(lease).filter((open) => open <= sequence);
    if (gone.length === 0) continue;
    replaceLease(store, partition, lease, withoutSequences(lease, gone));
    lost += gone.length;
  }
  for (const exception of store.exceptions(partition)) {
    if (exception.sequence > sequence) break;
    store.deleteException(partition, exception.sequence);
    lost += 1;
  }
  const cursor = Math.max(head.cursor, sequence);
  if (lost > 0 || cursor !== head.cursor) store.putHead(partition, { ...head, cursor, skipped: head.skipped + lost });
  return lost;
};
