import type { CliCommand } from "../command.ts";
import { changing } from "../session/changing.ts";

/** `rheo pause`: nothing more is fetched; what is held may be settled. */
export const pause: CliCommand = changing({
  usage: "pause <stream> <group>",
  summary: "let a group fetch nothing more, until it is resumed",
  plan: async ({ rheo }, [stream = "", group = ""]) => {
    const { paused } = await rheo.groupInfo(stream, group);
    const data = { stream, group, paused: true };
    return {
      order: `Pause group "${group}" of stream "${stream}"${paused ? ", which is paused already" : ""}`,
      expected: data,
      apply: async () => {
        await rheo.pauseGroup(stream, group);
        return { data, told: `Group "${group}" is paused. It goes on with: rheo resume ${stream} ${group}` };
      },
    };
  },
});
