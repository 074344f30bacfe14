import type { CliCommand } from "../command.ts";
import { countSelected, type SelectionFlags, selectionOptions, toSelection } from "../options/selection.ts";
import { counted } from "../output/format.ts";
import { changing } from "../session/changing.ts";

/** `rheo redrive`: dead letters are tried again. */
export const redrive: CliCommand = changing<SelectionFlags & { readonly dryRun?: boolean }>({
  usage: "redrive <stream> <group>",
  summary: "let dead letters be tried again, attempts from 0",
  options: selectionOptions,
  plan: async ({ rheo }, [stream = "", group = ""], flags) => {
    const selection = toSelection(flags);
    const selected = flags.dryRun === true ? await countSelected(rheo, stream, group, selection) : 0;
    return {
      order: `Redrive ${counted(selected, "dead letter")} of group "${group}" of stream "${stream}"`,
      expected: { stream, group, reopened: selected },
      apply: async () => {
        const { reopened } = await rheo.redrive(stream, group, selection);
        return { data: { stream, group, reopened }, told: `Redriven: ${counted(reopened, "dead letter")}.` };
      },
    };
  },
});
