import type { CliCommand } from "../command.ts";
import { groupColumns } from "../output/groups.ts";
import { table } from "../output/table.ts";
import { forEachAtOnce } from "../session/bounded.ts";
import { allGroups } from "../session/listing.ts";
import { reading } from "../session/reading.ts";

/** `rheo groups`: the groups of a stream, and how far behind each is. */
export const groups: CliCommand = reading({
  usage: "groups <stream>",
  summary: "the groups of a stream, and how far behind each is",
  isWatchable: true,
  look: async ({ rheo }, [stream = ""]) => {
    const rows = await forEachAtOnce(await allGroups(rheo, stream), ({ name }) => rheo.groupInfo(stream, name));
    return {
      data: rows,
      text: (screen) => table(screen, groupColumns(screen), rows),
      note: rows.length === 0 ? `Stream "${stream}" has no group. Make one with: rheo create-group ${stream} NAME` : null,
    };
  },
});
