import { RheoError } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { type GroupFlags, groupOptions, toGroupOptions } from "../options/group.ts";
import { changing } from "../session/changing.ts";

/** `rheo update-group`: changes options of a group; those left out stay. */
export const updateGroup: CliCommand = changing<GroupFlags>({
  usage: "update-group <stream> <group>",
  summary: "change options of a group; those left out stay",
  options: (command) =>
    groupOptions(command).option("--no-filter", "every event").option("--no-max-inflight", "the default bound on leases"),
  plan: async ({ rheo }, [stream = "", group = ""], flags) => {
    const change = toGroupOptions(flags);
    const names = Object.keys(change);
    if (names.length === 0) throw new RheoError("invalid_option", "Say what to change, such as --max-attempts 10.");
    const before = await rheo.groupInfo(stream, group);
    return {
      order: `Change ${names.join(", ")} of group "${group}" of stream "${stream}"`,
      expected: { stream, group, options: { ...before.options, ...change, retry: { ...before.options.retry, ...change.retry } } },
      apply: async () => {
        const { options } = await rheo.updateGroup(stream, group, change);
        return { data: { stream, group, options }, told: `Changed ${names.join(", ")} of group "${group}".` };
      },
    };
  },
});
