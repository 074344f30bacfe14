import { type GroupInfo, type Rheo, RheoError } from "@rheo/core";
import { internalsOf, isMissing, LIMITS } from "@rheo/core/internal";
import { type LabelSets, NO_LABELS, OTHER } from "../labels.ts";
import type { WatchSettings } from "../options.ts";
import type { Reading } from "./reading.ts";

interface StoreReadings {
  readonly readings: readonly Reading[];
  /** Groups that could not be read. */
  readonly failures: number;
}

interface GroupRef {
  readonly stream: string;
  readonly group: string;
}

/** Groups read at the same time: the answer is wanted soon, but the store has more to do. */
const AT_ONCE = 4;
/** Streams whose groups are looked for. */
const MOST_STREAMS = 1_000;

/** How the groups stand, by the store. A group that cannot be read is left out. @throws unavailable - not even their names can be read */
export const readStore = async ({ rheo, groups }: WatchSettings, sets: LabelSets): Promise<StoreReadings> => {
  const all = groups ?? (await listGroups(rheo));
  const watched = all.filter(({ stream, group }) => sets.ofGroup(stream, group).group !== OTHER);
  const readings: Reading[] = [{ metric: "leftOut", labels: NO_LABELS, value: all.length - watched.length }];
  const nowMs = internalsOf(rheo).clock.now();
  let failures = 0;
  const left = watched.values();
  const readLeft = async (): Promise<void> => {
    for (const ref of left) {
      const info = await readGroup(rheo, ref);
      if (info === "failed") failures += 1;
      else if (info !== "gone") readings.push(...readingsOf(info, sets, nowMs));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, readLeft));
  return { readings, failures };
};

const readGroup = async (rheo: Rheo, { stream, group }: GroupRef): Promise<GroupInfo | "gone" | "failed"> => {
  try {
    return await rheo.groupInfo(stream, group);
  } catch (error) {
    return isMissing(error) ? "gone" : "failed";
  }
};

const readingsOf = (info: GroupInfo, sets: LabelSets, nowMs: number): Reading[] => {
  const labels = sets.ofGroup(info.stream, info.name);
  const ageMs = info.oldestUnsettledAt === null ? 0 : Math.max(0, nowMs - info.oldestUnsettledAt.getTime());
  return [
    { metric: "lag", labels, value: info.lag },
    { metric: "inflight", labels, value: info.inflight },
    { metric: "retrying", labels, value: info.retrying },
    { metric: "deadLetters", labels, value: info.deadLetters },
    { metric: "oldestAge", labels, value: ageMs / 1_000 },
    { metric: "members", labels, value: info.members.length },
    { metric: "paused", labels, value: info.paused ? 1 : 0 },
  ];
};

const listGroups = async (rheo: Rheo): Promise<GroupRef[]> => {
  const streams = await rheo.listStreams({ limit: MOST_STREAMS });
  const refs: GroupRef[] = [];
  for (const { name: stream } of streams) {
    const groups = await rheo.listGroups(stream, { limit: LIMITS.pageSize }).catch(noneIfGone);
    refs.push(...groups.map(({ name }) => ({ stream, group: name })));
  }
  return refs;
};

const noneIfGone = (error: unknown): [] => {
  if (RheoError.is(error, "stream_not_found")) return [];
  throw error;
};
