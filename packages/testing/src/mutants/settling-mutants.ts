/** Faults in settling, fencing and renewal. */
import type { Backend, ExchangeAnswer, ExchangeRequest, Grant, Settlement, SettleOutcome } from "@rheo/core";
import { as, counted, exchangeMutant, type Mutant, mapResults, mutant, place } from "./mutant.ts";

/** Settles with an outcome put in place of another; `told` is what the caller hears. */
const swapped = (
  name: string,
  fault: string,
  swap: (outcome: SettleOutcome) => SettleOutcome,
  told?: "retrying" | "dead" | "pending",
): Mutant =>
  exchangeMutant(name, fault, async (inner, request) => {
    const settlements = request.settlements.map((settlement) => ({ ...settlement, outcome: swap(settlement.outcome) }));
    const answer = await inner.exchange({ ...request, settlements });
    if (told === undefined) return answer;
    return mapResults(request, answer, (result, part) =>
      result.state !== "stale" && settlements[part]?.outcome !== request.settlements[part]?.outcome ? as(told) : result,
    );
  });

/** Settles what was refused once more, under the token that holds the delivery now. */
const forced = async (inner: Backend, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  const answer = await inner.exchange(request);
  const redone = new Set<string>();
  for (const [part, settlement] of request.settlements.entries()) {
    for (const [position, sequence] of settlement.sequences.entries()) {
      if (answer.settled[part]?.[position]?.state !== "stale") continue;
      const current = await inner.delivery(request.stream, request.group, settlement.partition, sequence).catch(() => null);
      if (current?.state !== "leased" && current?.state !== "expired") continue;
      const again: Settlement = { ...settlement, sequences: [sequence], token: current.token };
      await inner.exchange({ ...request, settlements: [again], fetch: null });
      redone.add(`${part}/${position}`);
    }
  }
  return mapResults(request, answer, (result, part, position) => (redone.has(`${part}/${position}`) ? as("acked") : result));
};

const isAck = ({ settlements }: ExchangeRequest): boolean => settlements.some(({ outcome }) => outcome.kind === "ack");

export const settlingMutants: readonly Mutant[] = [
  exchangeMutant("ack-without-token-check", "an ack settles whatever lease is the current one", (inner, request) =>
    isAck(request) ? forced(inner, request) : inner.exchange(request),
  ),
  exchangeMutant(
    "nack-without-token-check",
    "nack, reject and release settle whatever lease is the current one",
    (inner, request) => (isAck(request) ? inner.exchange(request) : forced(inner, request)),
  ),
  exchangeMutant("stale-acks-are-welcome", "a refused settle is reported as done", async (inner, request) => {
    const answer = await inner.exchange(request);
    return mapResults(request, answer, (result) => (result.state === "stale" ? as("acked") : result));
  }),
  exchangeMutant("second-settle-succeeds", "a lease that is settled already can be settled again", async (inner, request) => {
    const answer = await inner.exchange(request);
    return mapResults(request, answer, (result) => (result.state === "stale" && result.why === "settled" ? as("acked") : result));
  }),
  exchangeMutant(
    "reclaimed-called-settled",
    "a lease that was taken over is called settled, so its holder believes it had worked",
    async (inner, request) => {
      const answer = await inner.exchange(request);
      return mapResults(request, answer, (result) =>
        result.state === "stale" && result.why === "reclaimed" ? { state: "stale", why: "settled" } : result,
      );
    },
  ),
  exchangeMutant(
    "expiry-revokes",
    "a late settle is refused although nobody has claimed the delivery",
    async (inner, request) => {
      const late = new Set<string>();
      for (const [part, { partition, sequences }] of request.settlements.entries()) {
        for (const sequence of sequences) {
          const { state } = await inner
            .delivery(request.stream, request.group, partition, sequence)
            .catch(() => ({ state: "gone" }));
          if (state === "expired") late.add(`${part}`);
        }
      }
      const settlements = request.settlements.map((settlement, part) =>
        late.has(`${part}`) ? { ...settlement, token: settlement.token + 1_000_000 } : settlement,
      );
      const answer = await inner.exchange({ ...request, settlements });
      return mapResults(request, answer, (result, part) => (late.has(`${part}`) ? { state: "stale", why: "reclaimed" } : result));
    },
  ),
  swapped(
    "lost-retry",
    "a nacked delivery is never offered again",
    (outcome) => (outcome.kind === "retry" ? { kind: "ack" } : outcome),
    "retrying",
  ),
  swapped("nack-ignores-delay", "a nacked delivery can be claimed at once", (outcome) =>
    outcome.kind === "retry" ? { ...outcome, delayMs: 0 } : outcome,
  ),
  swapped(
    "reject-without-dead-letter",
    "a rejected delivery is acked, and leaves no dead letter",
    (outcome) => (outcome.kind === "reject" ? { kind: "ack" } : outcome),
    "dead",
  ),
  swapped(
    "release-charges-the-attempt",
    "a released delivery has used up an attempt",
    (outcome) => (outcome.kind === "release" ? { kind: "retry", delayMs: 0, reason: "released", stack: null } : outcome),
    "pending",
  ),
  swapped(
    "reject-retries",
    "a rejected delivery is tried again",
    (outcome) => (outcome.kind === "reject" ? { ...outcome, kind: "retry", delayMs: 0 } : outcome),
    "dead",
  ),
  swapped("reason-lost", "failures are recorded without their reason", (outcome) =>
    "reason" in outcome ? { ...outcome, reason: "failed", stack: null } : outcome,
  ),
  mutant("attempts-not-bounded", "maxAttempts is one more than was asked for", (inner) => ({
    createGroup: async (stream, name, options, start) => {
      const made = await inner.createGroup(stream, name, { ...options, maxAttempts: options.maxAttempts + 1 }, start);
      return { ...made, group: { ...made.group, options } };
    },
  })),
  mutant("attempt-not-counted-on-expiry", "a delivery whose lease ran out comes again with the same attempt", (inner) => {
    const failures = new Map<string, number>();
    return {
      exchange: async (request) => {
        for (const { partition, sequences, outcome } of request.settlements) {
          if (outcome.kind === "retry") for (const sequence of sequences) counted(failures, place(request, partition, sequence));
        }
        const answer = await inner.exchange(request);
        const grants = answer.grants.map((grant): Grant => {
          const failed = failures.get(place(request, grant.partition, grant.events[0]?.sequence ?? 0)) ?? 0;
          return { ...grant, attempt: Math.min(grant.attempt, failed + 1) };
        });
        return { ...answer, grants };
      },
    };
  }),
  mutant("renew-adds-to-old-expiry", "a renewal adds its length to what is left of the lease", (inner) => ({
    renew: async (request) => {
      const leases = await inner.leases(request.stream, request.group, 1_000).catch(() => []);
      const lengthMs =
        request.leaseMs ?? (await inner.getGroup(request.stream, request.group).catch(() => null))?.options.leaseMs ?? 0;
      const found = leases.find(({ token, partition }) =>
        request.items.some((item) => item.token === token && item.partition === partition),
      );
      const leftMs = found === undefined ? 0 : Math.max(0, found.expiresAtMs - found.leasedAtMs);
      return inner.renew({ ...request, leaseMs: lengthMs + leftMs });
    },
  })),
  mutant("renew-accepts-stale-token", "a renewal prolongs whatever lease is the current one", (inner) => ({
    renew: async (request) => {
      const answer = await inner.renew(request);
      const stale = await Promise.all(
        request.items.map((item, part) =>
          Promise.all(
            item.sequences.map(async (sequence, position) => {
              const why = answer.stale[part]?.[position] ?? null;
              if (why === null) return null;
              const current = await inner.delivery(request.stream, request.group, item.partition, sequence).catch(() => null);
              if (current?.state !== "leased" && current?.state !== "expired") return why;
              await inner.renew({ ...request, items: [{ ...item, token: current.token, sequences: [sequence] }] });
              return null;
            }),
          ),
        ),
      );
      return { ...answer, stale };
    },
  })),
  mutant("renew-does-nothing", "a renewal is confirmed but not made", (inner) => ({
    renew: async (request) => ({ ...(await inner.renew({ ...request, leaseMs: 1 })), expiresAtMs: Number.MAX_SAFE_INTEGER }),
  })),
  mutant("renew-takes-the-whole-batch", "a renewal of one delivery prolongs all that were fetched with it", (inner) => ({
    renew: async (request) => {
      const leases = await inner.leases(request.stream, request.group, 1_000).catch(() => []);
      const whole = request.items.map((item) => ({
        ...item,
        sequences: leases
          .filter(({ partition, token }) => partition === item.partition && token === item.token)
          .map(({ sequence }) => sequence),
      }));
      await inner.renew({ ...request, items: whole }).catch(() => null);
      return inner.renew(request);
    },
  })),
];
