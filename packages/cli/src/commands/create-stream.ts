import { type Rheo, RheoError, type StreamInfo } from "@rheo/core";
import type { Command } from "commander";
import type { CliCommand } from "../command.ts";
import { wholeNumber } from "../options/numbers.ts";
import { counted } from "../output/format.ts";
import { changing } from "../session/changing.ts";

interface Flags {
  readonly partitions?: number;
  readonly ifMissing?: boolean;
}

const MAX_PARTITIONS = 1_024;

const options = (command: Command): Command =>
  command
    .option("--partitions <n>", "how many, for ever (default: 1)", wholeNumber(1, MAX_PARTITIONS))
    .option("--if-missing", "leave one that is there as it is");

/** `rheo create-stream`. */
export const createStream: CliCommand = changing<Flags>({
  usage: "create-stream <stream>",
  summary: "make a stream",
  options,
  plan: async ({ rheo }, [stream = ""], { partitions, ifMissing = false }) => {
    const found = await find(rheo, stream);
    if (found !== null && !ifMissing) throw alreadyExists(stream);
    const wanted = partitions === undefined ? {} : { partitions };
    const number = found?.partitions.length ?? partitions ?? 1;
    return {
      order:
        found === null ? `Create stream "${stream}" with ${counted(number, "partition")}` : `Leave stream "${stream}" as it is`,
      expected: { stream, partitions: number, created: found === null },
      apply: async () => {
        const made = ifMissing ? await rheo.ensureStream(stream, wanted) : await rheo.createStream(stream, wanted);
        const told = `Stream "${stream}" has ${counted(made.partitions.length, "partition")}.`;
        return { data: { stream, partitions: made.partitions.length, created: found === null }, told };
      },
    };
  },
});

const find = async (rheo: Rheo, stream: string): Promise<StreamInfo | null> => {
  try {
    return await rheo.streamInfo(stream);
  } catch (error) {
    if (RheoError.is(error, "stream_not_found")) return null;
    throw error;
  }
};

const alreadyExists = (stream: string): RheoError =>
  new RheoError("already_exists", `Stream "${stream}" exists already. With --if-missing that is fine.`, { stream });
