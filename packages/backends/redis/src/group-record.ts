/** A group as it is written, and as it is decided by partition 0. */
import type { GroupRecord, ResolvedGroupOptions, ResolvedStart } from "@rheo/core";
import { programText } from "@rheo/core/internal";

/** See `groups.lua.ts`. */
export type Written = readonly [options: string, paused: string, created: string, version: string, origin: string];

export const toGroup = (stream: string, name: string, [options, paused, created]: Written): GroupRecord => ({
  stream,
  name,
  options: optionsOf(options),
  paused: paused === "1",
  createdAtMs: Number(created),
});

const optionsOf = (text: string): ResolvedGroupOptions => JSON.parse(text) as ResolvedGroupOptions; // written by createGroup and updateGroup only

/** What scripts need to know of options, beside them. */
export const optionArguments = (options: ResolvedGroupOptions): (string | number)[] => [
  JSON.stringify(options),
  options.maxAttempts,
  options.leaseMs,
  options.ordering,
  options.maxInflight ?? "",
  programText(options.filter) ?? "",
];

/** A start as scripts take it, for some partitions. */
export const startArguments = (start: ResolvedStart, partitions: readonly number[]): string[] => {
  switch (start.kind) {
    case "earliest":
    case "latest":
      return [start.kind, ""];
    case "after":
      return [start.kind, partitions.map((partition) => start.after[partition] ?? 0).join(",")];
    case "time":
      return [start.kind, String(start.timeMs)];
    default:
      return start satisfies never;
  }
};

/** Makes a group in some partitions: where nothing was decided yet, or as partition 0 has decided. */
export const creationArguments = (
  options: ResolvedGroupOptions,
  start: ResolvedStart,
  partitions: readonly number[],
  [, paused = "", created = "", version = ""]: Written | readonly [],
): (string | number)[] => [
  ...optionArguments(options),
  ...startArguments(start, partitions),
  JSON.stringify(start),
  version,
  created,
  paused,
];

/** The same, of a group that is there. */
export const copyArguments = (written: Written, partitions: readonly number[]): (string | number)[] => {
  const start = JSON.parse(written[4]) as ResolvedStart; // written by createGroup only
  return creationArguments(optionsOf(written[0]), start, partitions, written);
};
