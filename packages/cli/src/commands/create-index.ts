import type { CliCommand } from "../command.ts";
import { whileWorking } from "../output/progress.ts";
import { changing } from "../session/changing.ts";

/** `rheo create-index`: makes queries by the value at a path fast. */
export const createIndex: CliCommand = changing({
  usage: "create-index <stream> <path>",
  summary: "make queries of a stream by the value at a path fast",
  plan: async ({ rheo, io }, [stream = "", path = ""]) => {
    const isThere = (await rheo.listIndexes(stream)).includes(path);
    const data = { stream, path, created: !isThere };
    return {
      order: isThere ? `Leave the index of ${path} as it is` : `Index ${path} of stream "${stream}"`,
      expected: data,
      apply: async () => {
        await whileWorking(io, `Indexing ${path}`, rheo.createIndex(stream, path));
        return { data, told: `${path} of stream "${stream}" has an index.` };
      },
    };
  },
});
