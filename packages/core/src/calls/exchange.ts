/** The two calls of the port that move deliveries, with what they tell `rheo.events`. */
import type { ExchangeAnswer, ExchangeRequest, RenewAnswer, RenewRequest, SettleOutcome } from "../backend.ts";
import type { Metadata } from "../event.ts";
import type { ResolvedGroupOptions } from "../group.ts";
import type { Outcome } from "../outcome.ts";
import { retryDelayMs } from "../retry-policy.ts";
import type { Context } from "./context.ts";

export const exchange = async (context: Context, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  context.check();
  const askedAtMs = context.clock.monotonic();
  const answer = await context.backend.exchange(request);
  if (request.settlements.length > 0) {
    tellSettled(context, request, answer);
    if (context.hears("delivery.settled")) tellEachSettled(context, request, answer, context.clock.monotonic() - askedAtMs);
    context.waiting.wake();
  }
  if (answer.grants.length > 0) {
    tellGranted(context, request, answer);
    if (context.hears("delivery.leased")) tellEachLeased(context, request, answer);
  }
  const { stream, group } = request;
  for (const died of answer.died) context.emit("dead_letter.created", { stream, group, ...died });
  return answer;
};

const tellGranted = ({ emit }: Context, { stream, group, fetch }: ExchangeRequest, { grants }: ExchangeAnswer): void => {
  let count = 0;
  let redelivered = 0;
  for (const { attempt, events } of grants) {
    count += events.length;
    if (attempt > 1) redelivered += events.length;
  }
  emit("lease.granted", { stream, group, consumerId: fetch?.consumerId ?? "", count, redelivered });
};

const tellSettled = ({ emit }: Context, { stream, group, settlements }: ExchangeRequest, { settled }: ExchangeAnswer): void => {
  const counts = { acked: 0, retrying: 0, dead: 0, pending: 0 };
  for (const [part, { partition, token, sequences, outcome }] of settlements.entries()) {
    for (const [position, result] of (settled[part] ?? []).entries()) {
      const sequence = sequences[position] ?? 0;
      if (result.state === "stale") emit("lease.stale", { stream, group, partition, sequence, token, why: result.why });
      else counts[result.state] += 1;
      if (result.state === "dead" && "reason" in outcome) {
        emit("dead_letter.created", { stream, group, partition, sequence, reason: outcome.reason });
      }
    }
  }
  const { acked, retrying, dead, pending: released } = counts;
  emit("lease.settled", { stream, group, acked, retrying, dead, released });
};

const tellEachLeased = ({ emit }: Context, { stream, group, fetch }: ExchangeRequest, answer: ExchangeAnswer): void => {
  const grants = answer.grants.map(({ partition, token, attempt, leasedAtMs, events }) => ({
    partition,
    token,
    attempt,
    sequences: events.map(({ sequence }) => sequence),
    waitedMs: events.map(({ timestampMs }) => Math.max(0, leasedAtMs - timestampMs)),
    traceparents: events.map(({ metadata }) => traceparentOf(metadata)),
  }));
  emit("delivery.leased", { stream, group, consumerId: fetch?.consumerId ?? "", grants });
};

/** Most metadata has none, and is not parsed. */
const traceparentOf = (metadata: string): string | null => {
  if (metadata === "{}" || !metadata.includes('"traceparent"')) return null;
  try {
    const { traceparent } = JSON.parse(metadata) as Metadata; // an object, as it has a name in it
    return typeof traceparent === "string" ? traceparent : null;
  } catch {
    return null; // damaged, which whoever handles the event is told
  }
};

const tellEachSettled = (
  { emit }: Context,
  { stream, group, settlements }: ExchangeRequest,
  answer: ExchangeAnswer,
  tookMs: number,
): void => {
  const settled = settlements.map(({ partition, token, sequences }, part) => ({
    partition,
    token,
    sequences,
    states: (answer.settled[part] ?? []).map(({ state }) => state),
  }));
  emit("delivery.settled", { stream, group, settled, tookMs });
};

export const renew = async (context: Context, request: RenewRequest): Promise<RenewAnswer> => {
  context.check();
  const answer = await context.backend.renew(request);
  const { stream, group } = request;
  let count = 0;
  for (const [part, { partition, token, sequences }] of request.items.entries()) {
    for (const [position, why] of (answer.stale[part] ?? []).entries()) {
      if (why === null) count += 1;
      else context.emit("lease.stale", { stream, group, partition, sequence: sequences[position] ?? 0, token, why });
    }
  }
  if (count > 0) context.emit("lease.renewed", { stream, group, count });
  return answer;
};

/** An outcome with its delay decided (T3). */
export const resolveOutcome = (
  outcome: Outcome,
  { retry }: ResolvedGroupOptions,
  attempt: number,
  random: () => number,
): SettleOutcome =>
  outcome.kind === "retry" ? { ...outcome, delayMs: outcome.delayMs ?? retryDelayMs(retry, attempt, random()) } : outcome;
