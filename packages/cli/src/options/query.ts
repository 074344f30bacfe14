/** The options by which events are picked, as `query`, `tail`, `replay` and others have them. */
import type { Query } from "@rheo/core";
import { type Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "./numbers.ts";
import { moment } from "./time.ts";
import { where } from "./where.ts";

type Sequences = number | Readonly<Record<number, number>>;

export interface MatchFlags extends Pick<Query, "type" | "key" | "correlationId" | "where" | "partition" | "from" | "to"> {
  readonly after?: Sequences;
  readonly until?: Sequences;
}

export const MAX_PARTITION = 1_023;

/** `--type`, `--key`, `--correlation-id`, `--where`. */
export const contentOptions = (command: Command): Command =>
  whereOption(
    command
      .option("--type <type>", "of this type")
      .option("--key <key>", "of this key")
      .option("--correlation-id <id>", "of this correlation id"),
  );

export const whereOption = (command: Command): Command =>
  command.option("--where <filter>", `such as 'payload.price>2' or '{"payload.currency":"EUR"}'; several must all hold`, where);

/** Those, and where in the stream to look. */
export const matchOptions = (command: Command): Command =>
  contentOptions(command)
    .option("--partition <n>", "of this partition", wholeNumber(0, MAX_PARTITION))
    .option("--from <time>", "not before this time, such as 2026-01-31T12:00Z, or 15m ago", moment)
    .option("--to <time>", "before this time", moment)
    .option("--after <sequence>", "after this sequence, or by partition: 0:12,3:99", sequences)
    .option("--until <sequence>", "up to this sequence, or by partition", sequences);

/** Of the flags, what the library's query takes. */
export const toQuery = ({ type, key, correlationId, where, partition, from, to, after, until }: MatchFlags): Query => ({
  ...(type === undefined ? {} : { type }),
  ...(key === undefined ? {} : { key }),
  ...(correlationId === undefined ? {} : { correlationId }),
  ...(where === undefined ? {} : { where }),
  ...(partition === undefined ? {} : { partition }),
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
  ...(after === undefined ? {} : { afterSequence: after }),
  ...(until === undefined ? {} : { untilSequence: until }),
});

/** An option that is a sequence, or `partition:sequence` with commas between. */
export const sequences = (text: string): Sequences => {
  if (/^\d+$/.test(text)) return Number(text);
  if (/^\d+:\d+(,\d+:\d+)*$/.test(text))
    return Object.fromEntries(text.split(",").map((pair) => pair.split(":").map(Number) as [number, number])); // two by the pattern
  throw new InvalidArgumentError("Give a sequence such as 42, or one for each partition, as in 0:12,3:99.");
};

/** An option that is a list of partitions, such as 0,2. */
export const partitionList = (text: string): readonly number[] => {
  if (/^\d+(,\d+)*$/.test(text)) return text.split(",").map(Number);
  throw new InvalidArgumentError("Give partitions such as 0,2.");
};
