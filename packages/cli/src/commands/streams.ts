import type { CliCommand } from "../command.ts";
import { ago, count } from "../output/format.ts";
import { type Column, table } from "../output/table.ts";
import { forEachAtOnce } from "../session/bounded.ts";
import { allGroups, allStreams } from "../session/listing.ts";
import { reading } from "../session/reading.ts";

interface StreamRow {
  readonly name: string;
  readonly partitions: number;
  /** Retained. */
  readonly events: number;
  readonly groups: number;
  readonly createdAt: Date;
}

const columns: readonly Column<StreamRow>[] = [
  { head: "STREAM", value: ({ name }) => name },
  { head: "PARTITIONS", value: ({ partitions }) => count(partitions), align: "right" },
  { head: "EVENTS", value: ({ events }) => count(events), align: "right" },
  { head: "GROUPS", value: ({ groups }) => count(groups), align: "right" },
];

/** `rheo streams`: what streams there are. */
export const streams: CliCommand = reading({
  usage: "streams",
  summary: "what streams there are, how many events they hold",
  isWatchable: true,
  look: async ({ rheo }) => {
    const rows = await forEachAtOnce(await allStreams(rheo), async ({ name, partitions, createdAt }): Promise<StreamRow> => {
      const [{ events }, groups] = await Promise.all([rheo.streamInfo(name), allGroups(rheo, name)]);
      return { name, partitions, events, groups: groups.length, createdAt };
    });
    return {
      data: rows,
      text: (screen) =>
        table(screen, [...columns, { head: "CREATED", value: ({ createdAt }) => ago(createdAt, screen.nowMs) }], rows),
      note: rows.length === 0 ? "There is no stream yet. Make one with: rheo create-stream NAME" : null,
    };
  },
});
