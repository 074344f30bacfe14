import type { GroupStart } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { groupStart } from "../options/group.ts";
import { counted } from "../output/format.ts";
import { whileWorking } from "../output/progress.ts";
import { changing } from "../session/changing.ts";

/** `rheo reset`: a group begins anew. */
export const reset: CliCommand = changing<{ readonly start: GroupStart }>({
  usage: "reset <stream> <group>",
  summary: "let a group begin anew: dead letters are cleared, leases become stale",
  asks: true,
  options: (command) =>
    command.option(
      "--start <place>",
      "earliest, latest, a sequence (or 0:12,3:99 by partition), or a time",
      groupStart,
      "earliest",
    ),
  plan: async ({ rheo, io }, [stream = "", group = ""], { start }) => {
    const { inflight, deadLetters } = await rheo.groupInfo(stream, group);
    const place = typeof start === "string" ? start : JSON.stringify(start);
    const lost = `${counted(deadLetters, "dead letter")} and ${counted(inflight, "lease")} are dropped`;
    return {
      order: `Reset group "${group}" of stream "${stream}" to ${place}: ${lost}`,
      expected: { stream, group, deadLetters, inflight },
      isDestructive: true,
      apply: async () => {
        const work = rheo.resetGroup(stream, group, { confirm: true, start });
        const { reopened } = await whileWorking(io, "Resetting", work);
        const told = `Group "${group}" begins anew; ${counted(reopened, "delivery", "deliveries")} re-opened.`;
        return { data: { stream, group, deadLetters, inflight, reopened }, told };
      },
    };
  },
});
