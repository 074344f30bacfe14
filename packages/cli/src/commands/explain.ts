import type { PartitionHolder, Rheo } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { deliveryColumns } from "../output/deliveries.ts";
import { count } from "../output/format.ts";
import { type Column, table } from "../output/table.ts";
import { forEachAtOnce } from "../session/bounded.ts";
import { reading } from "../session/reading.ts";

type Held = PartitionHolder & { readonly eventId: string | null; readonly key: string | null };

const columns: readonly Column<Held>[] = [
  { head: "PARTITION", value: ({ partition }) => partition, align: "right" },
  { head: "LAG", value: ({ lag }) => count(lag), align: "right" },
  { head: "SEQUENCE", value: ({ sequence }) => count(sequence), align: "right" },
  { head: "EVENT", value: ({ eventId }) => eventId },
  { head: "KEY", value: ({ key }) => key, yields: "next" },
];

/** `rheo explain`: what holds the frontier of each partition, who has it and since when. */
export const explain: CliCommand = reading({
  usage: "explain <stream> <group>",
  summary: "what holds a group up: in each partition, which event, who has it, since when",
  isWatchable: true,
  look: async ({ rheo }, [stream = "", group = ""]) => {
    const holders = await forEachAtOnce(await rheo.explainLag(stream, group), (holder) => identify(rheo, stream, holder));
    const rows = [...holders].sort((a, b) => b.lag - a.lag || a.partition - b.partition);
    return {
      data: rows.map((row) => ({ stream, group, ...row })),
      text: (screen) =>
        rows.length === 0 ? "Nothing: the group has caught up." : table(screen, [...columns, ...deliveryColumns(screen)], rows),
      note: rows[0]?.eventId == null ? null : `More about an event: rheo event ${stream} ${rows[0].eventId}`,
    };
  },
});

/** The event at the frontier; null when it was trimmed meanwhile. */
const identify = async (rheo: Rheo, stream: string, holder: PartitionHolder): Promise<Held> => {
  const { partition, sequence } = holder;
  const at = { partition, afterSequence: sequence - 1, untilSequence: sequence, limit: 1 };
  const [event] = await rheo.query(stream, at);
  return { ...holder, eventId: event?.id ?? null, key: event?.key ?? null };
};
