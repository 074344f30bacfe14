import { type Group, type Rheo, RheoError } from "@rheo/core";
import type { CliCommand } from "../command.ts";
import { type CreateGroupFlags, createGroupOptions, toCreateGroupOptions } from "../options/group.ts";
import { changing } from "../session/changing.ts";

interface Flags extends CreateGroupFlags {
  readonly ifMissing?: boolean;
}

const EPILOGUE = `
What is left out: from the earliest event on, ordering none, 5 max attempts, lease 30s, retry 1s to 5m, factor 2, jitter 0.2.`;

/** `rheo create-group`. */
export const createGroup: CliCommand = changing<Flags>({
  usage: "create-group <stream> <group>",
  summary: "make a group of a stream",
  options: (command) =>
    createGroupOptions(command).option("--if-missing", "leave one that is there as it is").addHelpText("after", EPILOGUE),
  plan: async ({ rheo }, [stream = "", group = ""], flags) => {
    const found = await find(rheo, stream, group);
    if (found !== null && flags.ifMissing !== true) {
      throw new RheoError(
        "already_exists",
        `Group "${group}" of stream "${stream}" exists already. With --if-missing that is fine.`,
        {
          stream,
          group,
        },
      );
    }
    return {
      order: found === null ? `Create group "${group}" of stream "${stream}"` : `Leave group "${group}" as it is`,
      expected: { stream, group, created: found === null },
      apply: async () => {
        const { options } = await rheo.ensureGroup(stream, group, toCreateGroupOptions(flags));
        return {
          data: { stream, group, created: found === null, options },
          told: `Group "${group}" of stream "${stream}" is there.`,
        };
      },
    };
  },
});

const find = async (rheo: Rheo, stream: string, group: string): Promise<Group | null> => {
  try {
    return await rheo.groupInfo(stream, group);
  } catch (error) {
    if (RheoError.is(error, "group_not_found")) return null;
    throw error;
  }
};
