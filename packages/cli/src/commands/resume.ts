import type { CliCommand } from "../command.ts";
import { changing } from "../session/changing.ts";

/** `rheo resume`: a paused group goes on. */
export const resume: CliCommand = changing({
  usage: "resume <stream> <group>",
  summary: "let a paused group go on",
  plan: async ({ rheo }, [stream = "", group = ""]) => {
    const { paused } = await rheo.groupInfo(stream, group);
    const data = { stream, group, paused: false };
    return {
      order: `Resume group "${group}" of stream "${stream}"${paused ? "" : ", which is not paused"}`,
      expected: data,
      apply: async () => {
        await rheo.resumeGroup(stream, group);
        return { data, told: `Group "${group}" goes on.` };
      },
    };
  },
});
