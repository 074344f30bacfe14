import type { CliCommand } from "../command.ts";
import { table } from "../output/table.ts";
import { reading } from "../session/reading.ts";

/** `rheo indexes`: the paths whose values are indexed. */
export const indexes: CliCommand = reading({
  usage: "indexes <stream>",
  summary: "the paths of a stream that have an index",
  look: async ({ rheo }, [stream = ""]) => {
    const rows = (await rheo.listIndexes(stream)).map((path) => ({ stream, path }));
    return { data: rows, text: (screen) => table(screen, [{ head: "PATH", value: ({ path }) => path }], rows) };
  },
});
