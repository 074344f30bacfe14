/** One stream: its partitions and its groups. */
import { type GroupRow, groupRow } from "./overview.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

export interface StreamView {
  readonly name: string;
  readonly createdAtMs: number;
  readonly events: number;
  readonly appendedPerSecond: number | null;
  /** Paths that searches are fast by. */
  readonly indexes: readonly string[];
  readonly partitions: readonly {
    readonly partition: number;
    readonly firstSequence: number;
    readonly highWatermark: number;
    readonly events: number;
  }[];
  readonly groups: readonly GroupRow[];
}

export const stream: View = {
  everyMs: 2_000,
  isHeavy: false,
  prepare: (params: Params, { rheo, sampler }: Sources) => {
    const name = params.required("stream");
    return async (): Promise<StreamView> => {
      const info = await rheo.streamInfo(name);
      const indexes = await rheo.listIndexes(name);
      const { groups } = await sampler.read();
      return {
        name,
        createdAtMs: info.createdAt.getTime(),
        events: info.events,
        appendedPerSecond: sampler.stream(name)?.appendedPerSecond ?? null,
        indexes,
        partitions: info.partitions,
        groups: groups.filter(({ group }) => group.stream === name).map(groupRow),
      };
    };
  },
};
