/** Exceptions that time allows: released ones, retries that are due, single leases that ran out (T1, T3–T5). */
import type { EventRecord } from "../event.ts";
import { attemptOf, isSearching, takeLast } from "./last-chance.ts";
import type { OrderView } from "./order.ts";
import { type Pass, sizeOf } from "./pass.ts";
import type { Alone, Exception } from "./records.ts";
import { expiryReason, revoke } from "./writes.ts";

/** Due exceptions whose events are read together. */
const CHUNK = 100;

export const takeDue = (pass: Pass, partition: number, order: OrderView): void => {
  const found = order.claimable ?? pass.store.dueExceptions(partition, pass.nowMs, pass.left);
  for (let start = 0; start < found.length && pass.isOpen; start += CHUNK) {
    const chunk = found.slice(start, start + CHUNK).filter((exception) => order.isInRun(exception.sequence));
    const sequences = chunk.map((exception) => exception.sequence).sort((a, b) => a - b);
    const read = pass.store.eventsAt(partition, sequences, pass.bytesLeft);
    const events = new Map(read.map((event) => [event.sequence, event]));
    for (const exception of chunk) {
      if (!pass.isOpen) return;
      // the chunk was read in sequence order, and may have been cut before this one
      const event = events.get(exception.sequence) ?? pass.store.eventsAt(partition, [exception.sequence], 1)[0];
      if (event === undefined) drop(pass, partition, exception);
      else if (order.isFree(exception.sequence)) take(pass, partition, exception, event, order);
    }
  }
};

/** Its event is not there, which only damage can do. */
const drop = (pass: Pass, partition: number, { sequence, state, token }: Exception): void => {
  if (state === "leased") revoke(pass.store, partition, token, [sequence], "reclaimed");
  pass.store.deleteException(partition, sequence);
  pass.place(partition).missing += 1;
};

const take = (pass: Pass, partition: number, exception: Exception, event: EventRecord, order: OrderView): void => {
  const next = exception.attempt + 1;
  const spent = exception.attempt >= pass.maxAttempts;
  const expired = exception.state === "leased";
  if (spent && (!expired || exception.alone > 0)) return end(pass, partition, exception);
  const suspect = expired || exception.takeovers > 0;
  if (suspect && next >= pass.maxAttempts) {
    const attempt = attemptOf(pass, exception);
    const waitingSinceMs = exception.dueAtMs ?? 0;
    return takeLast(pass, waitingSinceMs, (alone) => lease(pass, partition, exception, event, { attempt, alone }, order));
  }
  if (exception.takeovers > 0 && isSearching(pass)) return;
  lease(pass, partition, exception, event, { attempt: next, alone: 0 }, order);
};

const lease = (
  pass: Pass,
  partition: number,
  exception: Exception,
  event: EventRecord,
  { attempt, alone }: { readonly attempt: number; readonly alone: Alone },
  order: OrderView,
): void => {
  if (pass.granted > 0 && sizeOf(event) > pass.bytesLeft) return;
  const { store } = pass;
  const expired = exception.state === "leased";
  if (expired) revoke(store, partition, exception.token, [exception.sequence], "reclaimed");
  const takeovers = exception.takeovers + (expired ? 1 : 0);
  store.putException(partition, {
    ...exception,
    state: "leased",
    attempt,
    takeovers,
    alone,
    token: pass.token(partition),
    consumerId: pass.consumerId,
    leasedAtMs: pass.nowMs,
    dueAtMs: pass.expiresAtMs,
    firstFailedAtMs: exception.firstFailedAtMs ?? (expired ? exception.dueAtMs : null),
  });
  order.advance(exception.sequence);
  if (takeovers > 0) pass.suspectsGranted += 1;
  pass.grant(partition, attempt, [event]);
};

/** No attempts are left: a dead letter. */
const end = (pass: Pass, partition: number, exception: Exception): void => {
  const consumerId = exception.consumerId ?? "";
  const expired = exception.state === "leased";
  if (expired) revoke(pass.store, partition, exception.token, [exception.sequence], "reclaimed");
  pass.store.deleteException(partition, exception.sequence);
  pass.bury(partition, {
    sequence: exception.sequence,
    attempts: exception.attempt,
    reason: expired || exception.reason === null ? expiryReason(consumerId, exception.attempt) : exception.reason,
    stack: expired ? null : exception.stack,
    consumerId,
    firstFailedAtMs: exception.firstFailedAtMs ?? exception.dueAtMs ?? pass.nowMs,
  });
};
