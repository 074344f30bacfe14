import type { PartitionLag } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { count } from "../output/format.ts";
import { alarming } from "../output/groups.ts";
import { type Column, table } from "../output/table.ts";
import { reading } from "../session/reading.ts";

const columns: readonly Column<PartitionLag>[] = [
  { head: "PARTITION", value: ({ partition }) => partition, align: "right" },
  { head: "FIRST", value: ({ firstSequence }) => count(firstSequence), align: "right" },
  { head: "FRONTIER", value: ({ frontier }) => count(frontier), align: "right" },
  { head: "LAST", value: ({ highWatermark }) => count(highWatermark), align: "right" },
  {
    head: "LAG",
    value: ({ lag }) => count(lag),
    align: "right",
    paint: (text, { lag }, { colors }) => (lag > 0 ? colors.yellow(text) : text),
  },
  {
    head: "SKIPPED",
    value: ({ skipped }) => count(skipped),
    align: "right",
    paint: (text, { skipped }, screen) => alarming(text, skipped, screen),
  },
];

/** `rheo lag`: how far behind a group is, by partition. */
export const lag: CliCommand = reading({
  usage: "lag <stream> <group>",
  summary: "how far behind a group is, by partition",
  isWatchable: true,
  look: async ({ rheo }, [stream = "", group = ""]) => {
    const found = await rheo.lag(stream, group);
    return {
      data: { stream, group, ...found },
      text: (screen) => `${table(screen, columns, found.partitions)}\n\nlag ${count(found.lag)}`,
    };
  },
});
