import type { CliCommand } from "../command.ts";
import { whileWorking } from "../output/progress.ts";
import { changing } from "../session/changing.ts";

/** `rheo drop-index`. */
export const dropIndex: CliCommand = changing({
  usage: "drop-index <stream> <path>",
  summary: "remove an index",
  plan: async ({ rheo, io }, [stream = "", path = ""]) => {
    const isThere = (await rheo.listIndexes(stream)).includes(path);
    return {
      order: isThere ? `Drop the index of ${path} of stream "${stream}"` : `Do nothing: ${path} has no index`,
      expected: { stream, path, dropped: isThere },
      apply: async () => {
        const dropped = await whileWorking(io, `Dropping the index of ${path}`, rheo.dropIndex(stream, path));
        return { data: { stream, path, dropped }, told: dropped ? `The index of ${path} is gone.` : `${path} had no index.` };
      },
    };
  },
});
