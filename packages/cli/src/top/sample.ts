import type { GroupInfo, Rheo } from "@rheo/core";
import { systemClock } from "@rheo/core";
import { forEachAtOnce } from "../session/bounded.ts";
import { allGroups, allStreams } from "../session/listing.ts";

/** A group as it is at one moment. */
export interface GroupSample {
  readonly info: GroupInfo;
  /** Events ever appended to its stream. */
  readonly appended: number;
  /** Sum of its frontiers: rises as deliveries are settled, in steps where one holds others up. */
  readonly settled: number;
}

export interface Sample {
  /** From an arbitrary start. */
  readonly atMs: number;
  readonly groups: readonly GroupSample[];
}

/** All groups of one stream, or of all. */
export const takeSample = async (rheo: Rheo, stream: string | null): Promise<Sample> => {
  const streams = stream === null ? (await allStreams(rheo)).map(({ name }) => name) : [stream];
  const groups = (await forEachAtOnce(streams, (name) => allGroups(rheo, name))).flat();
  return {
    atMs: systemClock.monotonic(),
    groups: await forEachAtOnce(groups, async (group) => {
      const info = await rheo.groupInfo(group.stream, group.name);
      const { partitions } = await rheo.lag(group.stream, group.name);
      const sum = (of: "highWatermark" | "frontier"): number => partitions.reduce((total, part) => total + part[of], 0);
      return { info, appended: sum("highWatermark"), settled: sum("frontier") };
    }),
  };
};
