/** The options of a group, as `create-group` and `update-group` have them. */
import type { CreateGroupOptions, Filter, GroupOptions, GroupStart, Ordering, RetryPolicy } from "@rheo/core";
import { type Command, InvalidArgumentError } from "commander";
import { duration, oneOf, wholeNumber } from "./numbers.ts";
import { sequences } from "./query.ts";
import { moment } from "./time.ts";
import { where } from "./where.ts";

export interface GroupFlags {
  readonly maxAttempts?: number;
  readonly lease?: number;
  readonly retryMin?: number;
  readonly retryMax?: number;
  readonly retryFactor?: number;
  readonly retryJitter?: number;
  /** False: none. */
  readonly filter?: Filter | false;
  readonly maxInflight?: number | false;
}

export interface CreateGroupFlags extends GroupFlags {
  readonly start?: GroupStart;
  readonly ordering?: Ordering;
}

/** Ranges are checked by the library. */
const ANY = wholeNumber(0, Number.MAX_SAFE_INTEGER);

export const groupOptions = (command: Command): Command =>
  command
    .option("--max-attempts <n>", "starts of a delivery before it is dead", ANY)
    .option("--lease <duration>", "length of a lease, such as 30s", duration)
    .option("--retry-min <duration>", "the first delay after a failure", duration)
    .option("--retry-max <duration>", "the longest one", duration)
    .option("--retry-factor <number>", "how much longer each is than the one before", decimal)
    .option("--retry-jitter <share>", "how much delays are spread, from 0 to 1", decimal)
    .option("--filter <filter>", "only events that match, as with --where of query", where)
    .option("--max-inflight <n>", "leases at most, over all members", ANY);

export const createGroupOptions = (command: Command): Command =>
  groupOptions(
    command
      .option("--start <place>", "earliest, latest, a sequence (or 0:12,3:99 by partition), or a time", groupStart)
      .option("--ordering <order>", "none, key or partition; fixed for ever", oneOf("none", "key", "partition")),
  );

/** `--start` as create-group and reset have it. */
export const groupStart = (text: string): GroupStart => {
  if (text === "earliest" || text === "latest") return text;
  if (/^[\d:,]+$/.test(text)) return { after: sequences(text) };
  try {
    return { at: moment(text) };
  } catch {
    throw new InvalidArgumentError("Give earliest, latest, a sequence such as 42, or a time such as 2026-01-31T12:00Z or 15m.");
  }
};

const decimal = (text: string): number => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a number such as 0.5.");
};

export const toGroupOptions = (flags: GroupFlags): GroupOptions => {
  const retry = toRetry(flags);
  return {
    ...(flags.maxAttempts === undefined ? {} : { maxAttempts: flags.maxAttempts }),
    ...(flags.lease === undefined ? {} : { leaseMs: flags.lease }),
    ...(Object.keys(retry).length === 0 ? {} : { retry }),
    ...(flags.filter === undefined ? {} : { filter: flags.filter === false ? null : flags.filter }),
    ...(flags.maxInflight === undefined ? {} : { maxInflight: flags.maxInflight === false ? null : flags.maxInflight }),
  };
};

const toRetry = ({ retryMin, retryMax, retryFactor, retryJitter }: GroupFlags): Partial<RetryPolicy> => ({
  ...(retryMin === undefined ? {} : { minMs: retryMin }),
  ...(retryMax === undefined ? {} : { maxMs: retryMax }),
  ...(retryFactor === undefined ? {} : { factor: retryFactor }),
  ...(retryJitter === undefined ? {} : { jitter: retryJitter }),
});

export const toCreateGroupOptions = (flags: CreateGroupFlags): CreateGroupOptions => ({
  ...toGroupOptions(flags),
  ...(flags.start === undefined ? {} : { start: flags.start }),
  ...(flags.ordering === undefined ? {} : { ordering: flags.ordering }),
});
