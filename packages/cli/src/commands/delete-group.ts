import type { CliCommand } from "../command.ts";
import { counted } from "../output/format.ts";
import { changing } from "../session/changing.ts";

/** `rheo delete-group`: with its progress and dead letters. */
export const deleteGroup: CliCommand = changing({
  usage: "delete-group <stream> <group>",
  summary: "remove a group with its progress and dead letters",
  asks: true,
  plan: async ({ rheo }, [stream = "", group = ""]) => {
    const { lag, inflight, deadLetters } = await rheo.groupInfo(stream, group);
    const data = { stream, group, lag, inflight, deadLetters };
    const held = `a lag of ${lag}, ${counted(inflight, "lease")} and ${counted(deadLetters, "dead letter")}`;
    return {
      order: `Delete group "${group}" of stream "${stream}" with ${held}`,
      expected: data,
      isDestructive: true,
      apply: async () => {
        await rheo.deleteGroup(stream, group, { confirm: true });
        return { data, told: `Group "${group}" is gone.` };
      },
    };
  },
});
