/** Looking at groups: nothing here changes anything (P4). */
import { throwIfAborted } from "../appender.ts";
import type { Event } from "../event.ts";
import { parseFilter } from "../filter.ts";
import { LIMITS } from "../limits.ts";
import { parseNumber, parseOptions, parseSignal, parseText } from "../options.ts";
import {
  type DeadLetterInfo,
  type DeliveryInfo,
  type GroupInfo,
  type Lag,
  type LeaseInfo,
  type PartitionHolder,
  toDeadLetterInfo,
  toDeliveryInfo,
  toGroupInfo,
  toLag,
  toLeaseInfo,
} from "../views.ts";
import { WAIT_POLL_MS } from "../waiting.ts";
import type { AnyStream, Context } from "./context.ts";
import { getEvent } from "./log.ts";

export const lag = async (context: Context, stream: AnyStream, group: string): Promise<Lag> => {
  const name = context.streamOf(stream, group);
  return toLag(await context.backend.progress(name, group));
};

export const groupInfo = async (context: Context, stream: AnyStream, group: string): Promise<GroupInfo> => {
  const name = context.streamOf(stream, group);
  const { backend } = context;
  const record = await backend.getGroup(name, group);
  const progress = await backend.progress(name, group);
  return toGroupInfo(record, toLag(progress), await backend.groupStats(name, group));
};

export const explainLag = async (context: Context, stream: AnyStream, group: string): Promise<PartitionHolder[]> => {
  const name = context.streamOf(stream, group);
  const holders = await context.backend.holders(name, group);
  return holders.map(({ highWatermark, ...holder }) => {
    const { partition, sequence } = holder;
    return { ...toDeliveryInfo(holder), partition, frontier: sequence - 1, highWatermark, lag: highWatermark - sequence + 1 };
  });
};

export const deadLetters = async (
  context: Context,
  stream: AnyStream,
  group: string,
  options: unknown,
): Promise<DeadLetterInfo[]> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("deadLetters", options, ["limit", "after", "where"]);
  const limit = parseNumber("limit", raw.limit, { min: 1, max: LIMITS.pageSize, fallback: 100 });
  const where = raw.where === undefined ? null : parseFilter(raw.where);
  const letters = await context.backend.deadLetters({ stream: name, group, limit, after: parseText("after", raw.after), where });
  return letters.map((letter) => toDeadLetterInfo(name, group, letter));
};

export const leases = async (context: Context, stream: AnyStream, group: string, options: unknown): Promise<LeaseInfo[]> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("leases", options, ["limit"]);
  const limit = parseNumber("limit", raw.limit, { min: 1, max: LIMITS.fetchLimit, fallback: LIMITS.pageSize });
  return (await context.backend.leases(name, group, limit)).map((lease) => toLeaseInfo(name, group, lease));
};

/** Where every group stands with one event. */
export interface EventHistory {
  readonly event: Event;
  readonly groups: readonly (DeliveryInfo & { readonly group: string })[];
}

export const eventHistory = async (context: Context, stream: AnyStream, eventId: string): Promise<EventHistory | null> => {
  const event = await getEvent(context, stream, eventId);
  if (event === null) return null;
  const { stream: name, partition, sequence } = event;
  const { backend } = context;
  const groups: EventHistory["groups"][number][] = [];
  for (let after: string | null = null; ; ) {
    const page = await backend.listGroups(name, { after, limit: LIMITS.pageSize });
    for (const { name: group } of page) {
      const delivery = await backend.delivery(name, group, partition, sequence);
      groups.push({ group, ...toDeliveryInfo({ partition, sequence, delivery }) });
    }
    after = page.at(-1)?.name ?? null;
    if (page.length < LIMITS.pageSize || after === null) return { event, groups };
  }
};

/** Each settlement is a hint that a group may have caught up; but looking takes at most the 1 / (1 + this)th part of the time. */
const LOOK_SHARE = 9;

export const whenCaughtUp = async (context: Context, stream: AnyStream, group: string, options: unknown): Promise<void> => {
  const signal = parseSignal(parseOptions("whenCaughtUp", options, ["signal"]).signal);
  for (;;) {
    throwIfAborted(signal);
    const woken = context.waiting.wait(WAIT_POLL_MS, signal);
    const askedAtMs = context.clock.monotonic();
    if ((await lag(context, stream, group)).lag === 0) return;
    const tookMs = context.clock.monotonic() - askedAtMs;
    await woken;
    await context.waiting.pause(Math.min(WAIT_POLL_MS, LOOK_SHARE * tookMs), signal);
  }
};
