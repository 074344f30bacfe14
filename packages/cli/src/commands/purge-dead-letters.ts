import type { CliCommand } from "../command.ts";
import { countSelected, type SelectionFlags, selectionOptions, toSelection } from "../options/selection.ts";
import { counted } from "../output/format.ts";
import { changing } from "../session/changing.ts";

/** `rheo purge-dead-letters`: they are forgotten; their events stay in the log. */
export const purgeDeadLetters: CliCommand = changing<SelectionFlags>({
  usage: "purge-dead-letters <stream> <group>",
  summary: "forget dead letters; their events stay in the stream",
  asks: true,
  options: selectionOptions,
  plan: async ({ rheo }, [stream = "", group = ""], flags) => {
    const selection = toSelection(flags);
    const selected = await countSelected(rheo, stream, group, selection);
    return {
      order: `Purge ${counted(selected, "dead letter")} of group "${group}" of stream "${stream}"`,
      expected: { stream, group, purged: selected },
      isDestructive: selected > 0,
      apply: async () => {
        const { purged } = await rheo.purgeDeadLetters(stream, group, { ...selection, confirm: true });
        return { data: { stream, group, purged }, told: `Purged: ${counted(purged, "dead letter")}.` };
      },
    };
  },
});
