import type { CliCommand } from "../command.ts";
import { counted } from "../output/format.ts";
import { changing } from "../session/changing.ts";
import { allGroups } from "../session/listing.ts";

/** `rheo delete-stream`: with its events and groups. */
export const deleteStream: CliCommand = changing({
  usage: "delete-stream <stream>",
  summary: "remove a stream with its events and groups",
  asks: true,
  plan: async ({ rheo }, [stream = ""]) => {
    const { events } = await rheo.streamInfo(stream);
    const groups = await allGroups(rheo, stream);
    const data = { stream, events, groups: groups.length };
    return {
      order: `Delete stream "${stream}" with ${counted(events, "event")} and ${counted(groups.length, "group")}`,
      expected: data,
      isDestructive: true,
      apply: async () => {
        await rheo.deleteStream(stream, { confirm: true });
        return { data, told: `Stream "${stream}" is gone.` };
      },
    };
  },
});
