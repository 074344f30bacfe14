/** Fetch, settle, renew: what users do with leases. */
import { aborted, throwIfAborted } from "../appender.ts";
import type { ExchangeRequest, Grant, SettleOutcome } from "../backend.ts";
import { isMissing, RheoError, staleLease } from "../errors.ts";
import { type Event, type EventRecord, toEvent } from "../event.ts";
import { givenOutcome } from "../given-outcome.ts";
import type { Lease, LeaseRef, Renewal, SettleAnswer } from "../lease.ts";
import { LIMITS } from "../limits.ts";
import { parseName } from "../names.ts";
import { parseList, parseNumber, parseOptions, parseSignal, readable, unreadable } from "../options.ts";
import { type Outcome, parseReason } from "../outcome.ts";
import { parsePartitions } from "../query.ts";
import { isVersioned, newestShape } from "../schema.ts";
import { parseLease, renewBatches, settlementBatches, toRenewal, toSettleAnswer } from "../settling.ts";
import { leaseId } from "../views.ts";
import { WAIT_POLL_MS } from "../waiting.ts";
import type { AnyStream, Context } from "./context.ts";
import { exchange, renew, resolveOutcome } from "./exchange.ts";

const FETCH_NAMES = ["limit", "consumerId", "leaseMs", "partitions", "maxBytes", "runLimit", "waitMs", "signal"] as const;

export const fetch = async (context: Context, stream: AnyStream, group: string, options: unknown): Promise<Lease[]> => {
  const name = context.streamOf(stream, group);
  const raw = parseOptions("fetch", options, FETCH_NAMES);
  const signal = parseSignal(raw.signal);
  const consumerId = raw.consumerId === undefined ? context.consumerId : parseName("consumer", raw.consumerId);
  const request: ExchangeRequest = {
    stream: name,
    group,
    settlements: [],
    fetch: {
      limit: parseNumber("limit", raw.limit, { min: 1, max: LIMITS.fetchLimit, fallback: 10 }),
      consumerId,
      leaseMs: parseLeaseMs(raw.leaseMs),
      partitions: raw.partitions === undefined ? null : parsePartitions(raw.partitions, await context.partitionsOf(name)),
      maxBytes: parseNumber("maxBytes", raw.maxBytes, { min: 1, max: Number.MAX_SAFE_INTEGER, fallback: LIMITS.fetchBytes }),
      runLimit: parseNumber("runLimit", raw.runLimit, { min: 1, max: LIMITS.fetchLimit, fallback: 1 }),
    },
  };
  const waitMs = parseNumber("waitMs", raw.waitMs, { min: 0, max: LIMITS.durationMs, fallback: 0 });
  const leases = toLeases(name, group, consumerId, await fetchWaiting(context, request, waitMs, signal));
  if (isVersioned(stream)) for (const lease of leases) bringUp(stream, lease);
  return leases;
};

/** An event that cannot be read fails when it is looked at, and not the whole fetch, whose leases are held already. */
const withEvent = (lease: Omit<Lease, "event">, record: EventRecord): Lease => {
  try {
    return { ...lease, event: toEvent(lease.stream, record) };
  } catch {
    const get = (): Event => toEvent(lease.stream, record);
    return Object.defineProperty(lease, "event", { enumerable: true, get }) as Lease; // with the event, just now
  }
};

/** An upcaster that fails is to fail its own event, when that is looked at, and not the whole fetch, whose leases are held already. */
const bringUp = (stream: AnyStream, lease: Lease): void => {
  const stored = Object.getOwnPropertyDescriptor(lease, "event");
  let event: Event | null = null;
  const get = (): Event => (event ??= newestShape(stream, stored?.get === undefined ? stored?.value : stored.get()));
  Object.defineProperty(lease, "event", { enumerable: true, get });
};

const parseLeaseMs = (value: unknown): number | null =>
  value === undefined ? null : parseNumber("leaseMs", value, { min: 1, max: LIMITS.durationMs });

/** Fetches until there is something, the time is up, or the signal aborts. */
const fetchWaiting = async (
  context: Context,
  request: ExchangeRequest,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<readonly Grant[]> => {
  const endMs = context.clock.monotonic() + waitMs;
  for (;;) {
    throwIfAborted(signal);
    const left = endMs - context.clock.monotonic();
    const woken = left > 0 ? context.waiting.wait(Math.min(left, WAIT_POLL_MS), signal) : null;
    const { grants, more } = await exchange(context, request);
    if (grants.length > 0 || (woken === null && !more)) return grants;
    if (!more) await woken;
    if (signal?.aborted) throw aborted(signal);
  }
};

const toLeases = (stream: string, group: string, consumerId: string, grants: readonly Grant[]): Lease[] => {
  const leases = grants.flatMap(({ partition, token, attempt, leasedAtMs, expiresAtMs, events }) => {
    const common = { token, stream, group, partition, attempt, consumerId };
    const leasedAt = new Date(leasedAtMs);
    const expiresAt = new Date(expiresAtMs);
    return events.map((record) =>
      withEvent(
        { id: leaseId(partition, record.sequence, token), ...common, sequence: record.sequence, leasedAt, expiresAt },
        record,
      ),
    );
  });
  return grants.length < 2 ? leases : leases.sort((a, b) => a.partition - b.partition || a.sequence - b.sequence);
};

export const nack = async (
  context: Context,
  lease: LeaseRef,
  options: unknown,
): Promise<{ readonly state: "retrying" | "dead" }> => {
  const raw = parseOptions("nack", options, ["reason", "delayMs", "transaction"]);
  const delayMs = raw.delayMs === undefined ? null : parseNumber("delayMs", raw.delayMs, { min: 0, max: LIMITS.durationMs });
  const state = await settleOne(context, lease, { kind: "retry", delayMs, ...parseReason(raw, NO_REASON) }, raw.transaction);
  return { state: state === "dead" ? "dead" : "retrying" };
};

const NO_REASON = "no reason given";

export const reject = async (context: Context, lease: LeaseRef, options: unknown): Promise<void> => {
  const raw = parseOptions("reject", options, ["reason", "transaction"]);
  await settleOne(context, lease, { kind: "reject", ...parseReason(raw, NO_REASON) }, raw.transaction);
};

/** Ack or release. */
export const settlePlainly = async (context: Context, lease: LeaseRef, outcome: Outcome, options: unknown): Promise<void> => {
  const { transaction } = parseOptions(outcome.kind, options, ["transaction"]);
  await settleOne(context, lease, outcome, transaction);
};

const settleOne = async (context: Context, lease: LeaseRef, outcome: Outcome, transaction: unknown): Promise<string> => {
  const [answer] = await settle(context, [{ lease, outcome }], transaction === undefined ? {} : { transaction });
  if (answer?.status === "settled") return answer.state;
  throw staleLease(lease, answer?.why ?? "gone");
};

/** Leases of one call: ten times what one fetch gives. */
const MAX_ITEMS = 10 * LIMITS.fetchLimit;

export const settle = async (
  context: Context,
  items: readonly { readonly lease: LeaseRef; readonly outcome: Outcome }[],
  options: unknown,
): Promise<SettleAnswer[]> => {
  context.check();
  const { transaction } = parseOptions("settle", options, ["transaction"]);
  context.checkTransaction(transaction);
  const given = parseList("items", items, { min: 0, max: MAX_ITEMS }) as typeof items; // each is looked at below
  const resolved: { lease: LeaseRef; outcome: SettleOutcome }[] = [];
  for (const [index, item] of given.entries()) {
    const { lease, outcome } = readable(
      () => ({ lease: parseLease(item?.lease, index), outcome: parseOutcome(item?.outcome, index) }),
      (cause) => unreadable(`item ${index}`, cause),
    );
    resolved.push({ lease, outcome: await resolveFor(context, lease, outcome) });
  }
  const answers = new Array<SettleAnswer>(given.length);
  for (const { stream, group, parts } of settlementBatches(resolved)) {
    const settlements = parts.map(({ part }) => part);
    const within = transaction === undefined ? {} : { transaction };
    const { settled } = await exchange(context, { stream, group, settlements, fetch: null, ...within });
    for (const [part, { indexes }] of parts.entries()) {
      for (const [position, index] of indexes.entries()) {
        answers[index] = toSettleAnswer(settled[part]?.[position] ?? { state: "stale", why: "gone" });
      }
    }
  }
  return answers;
};

const parseOutcome = (value: unknown, index: number): Outcome => {
  const outcome = givenOutcome(value);
  if (outcome !== null) return outcome;
  throw new RheoError("invalid_option", `Item ${index} has no outcome. Use ack(), retry(reason), reject(reason) or release().`, {
    index,
  });
};

const resolveFor = async (context: Context, lease: LeaseRef, outcome: Outcome): Promise<SettleOutcome> => {
  const byDefault = (): SettleOutcome => resolveOutcome(outcome, context.defaults, lease.attempt ?? 1, context.random);
  if (outcome.kind !== "retry" || outcome.delayMs !== null) return byDefault();
  try {
    const { options } = await context.groupOf(lease.stream, lease.group);
    return resolveOutcome(outcome, options, lease.attempt ?? 1, context.random);
  } catch (error) {
    // for a group or stream that is no longer there the store answers `gone`
    if (isMissing(error)) return byDefault();
    throw error;
  }
};

export const renewOne = async <L extends LeaseRef>(
  context: Context,
  lease: L,
  options: unknown,
): Promise<L & { readonly expiresAt: Date }> => {
  const [renewal] = await renewMany(context, [lease], options);
  if (renewal?.status === "renewed") return { ...lease, expiresAt: renewal.expiresAt };
  throw staleLease(lease, renewal?.why ?? "gone");
};

export const renewMany = async (context: Context, leases: readonly LeaseRef[], options: unknown): Promise<Renewal[]> => {
  context.check();
  const leaseMs = parseLeaseMs(parseOptions("renew", options, ["leaseMs"]).leaseMs);
  const held = parseList("leases", leases, { min: 0, max: MAX_ITEMS }).map(parseLease);
  const renewals = new Array<Renewal>(held.length);
  for (const { stream, group, parts } of renewBatches(held)) {
    const consumerId = held[parts[0]?.indexes[0] ?? 0]?.consumerId ?? context.consumerId;
    const answer = await renew(context, { stream, group, consumerId, items: parts.map(({ part }) => part), leaseMs });
    for (const [part, { indexes }] of parts.entries()) {
      for (const [position, index] of indexes.entries()) renewals[index] = toRenewal(answer, part, position);
    }
  }
  return renewals;
};
