/** Faults in what a fetch gives, and to whom. */
import type {
  Backend,
  Clock,
  ExchangeAnswer,
  ExchangeRequest,
  FetchRequest,
  Grant,
  LeaseRecord,
  ResolvedGroupOptions,
} from "@rheo/core";
import { counted, exchangeMutant, type Mutant, mutant, place } from "./mutant.ts";

const HOUR_MS = 3_600_000;
const MUCH = 10_000;

/** A group is made, and changed, without one of its options; it is told with it. */
const withoutOption = (name: string, fault: string, drop: (options: ResolvedGroupOptions) => ResolvedGroupOptions): Mutant =>
  mutant(name, fault, (inner) => {
    const told = new Map<string, ResolvedGroupOptions>();
    return {
      createGroup: async (stream, group, options, start) => {
        const made = await inner.createGroup(stream, group, drop(options), start);
        if (made.created) told.set(`${stream}/${group}`, options);
        return { ...made, group: { ...made.group, options: told.get(`${stream}/${group}`) ?? options } };
      },
      getGroup: async (stream, group) => {
        const record = await inner.getGroup(stream, group);
        return { ...record, options: told.get(`${stream}/${group}`) ?? record.options };
      },
      listGroups: async (stream, page) =>
        (await inner.listGroups(stream, page)).map((record) => ({
          ...record,
          options: told.get(`${stream}/${record.name}`) ?? record.options,
        })),
      updateGroup: async (stream, group, change) => {
        const record = await inner.updateGroup(
          stream,
          group,
          change.options === undefined ? change : { ...change, options: drop(change.options) },
        );
        if (change.options !== undefined) told.set(`${stream}/${group}`, change.options);
        return { ...record, options: told.get(`${stream}/${group}`) ?? record.options };
      },
    };
  });

const fetchMutant = (name: string, fault: string, change: (fetch: FetchRequest) => FetchRequest): Mutant =>
  exchangeMutant(name, fault, (inner, request) =>
    inner.exchange(request.fetch === null ? request : { ...request, fetch: change(request.fetch) }),
  );

/** One partition after the other, so that the last is reached only when the others are empty. */
const inOrder = async (inner: Backend, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  const { fetch } = request;
  if (fetch === null) return inner.exchange(request);
  const { settled } = await inner.exchange({ ...request, fetch: null });
  const partitions = fetch.partitions ?? (await inner.watermarks(request.stream)).map(({ partition }) => partition);
  const grants: Grant[] = [];
  const died: ExchangeAnswer["died"][number][] = [];
  let left = fetch.limit;
  for (const partition of partitions) {
    if (left === 0) break;
    const found = await inner.exchange({
      ...request,
      settlements: [],
      fetch: { ...fetch, limit: left, partitions: [partition] },
    });
    left -= countOf(found.grants);
    grants.push(...found.grants);
    died.push(...found.died);
  }
  return { settled, grants, died, more: false };
};

/** What a fetch under one name leaves of the suspects is fetched under others. */
const allSuspects = async (inner: Backend, request: ExchangeRequest): Promise<ExchangeAnswer> => {
  const { fetch } = request;
  const answer = await inner.exchange(request);
  if (fetch === null || !answer.grants.some(({ attempt }) => attempt > 1)) return answer;
  const grants = [...answer.grants];
  for (let left = fetch.limit - countOf(grants), name = 1; left > 0; name++) {
    const found = await inner.exchange({
      ...request,
      settlements: [],
      fetch: { ...fetch, limit: left, consumerId: `${fetch.consumerId} ${name}` },
    });
    if (found.grants.length === 0) break;
    left -= countOf(found.grants);
    grants.push(...found.grants);
  }
  return { ...answer, grants };
};

const countOf = (grants: readonly Grant[]): number => grants.reduce((sum, { events }) => sum + events.length, 0);

/** What others hold, handed out once more. */
const sharedGrants = async (inner: Backend, { stream }: ExchangeRequest, leases: readonly LeaseRecord[]): Promise<Grant[]> => {
  const grants: Grant[] = [];
  for (const { partition, sequence, token, attempt, leasedAtMs, expiresAtMs } of leases) {
    const events = await inner.read({
      stream,
      partition,
      after: sequence - 1,
      until: sequence,
      order: "asc",
      limit: 1,
      maxBytes: MUCH,
    });
    grants.push({ partition, token, attempt, leasedAtMs, expiresAtMs, events });
  }
  return grants;
};

/** Keeps tokens of its own: `told` to members, `real` to the store. */
class Tokens {
  readonly #real = new Map<string, number>();

  tell(group: string, partition: number, told: number, real: number): number {
    this.#real.set(`${group}/${partition}/${told}`, real);
    return told;
  }

  real(group: string, partition: number, told: number): number {
    return this.#real.get(`${group}/${partition}/${told}`) ?? told;
  }
}

/** A store whose tokens are renumbered by `number`. */
const renumbered = (
  name: string,
  fault: string,
  changes: (inner: Backend, offsets: Map<string, number>) => Partial<Backend>,
  onRelease = false,
): Mutant =>
  mutant(name, fault, (inner) => {
    const offsets = new Map<string, number>();
    const tokens = new Tokens();
    const groupOf = ({ stream, group }: { stream: string; group: string }): string => `${stream}/${group}`;
    return {
      ...changes(inner, offsets),
      exchange: async (request) => {
        const group = groupOf(request);
        const settlements = request.settlements.map((settlement) => ({
          ...settlement,
          token: tokens.real(group, settlement.partition, settlement.token),
        }));
        if (onRelease) for (const { outcome } of settlements) if (outcome.kind === "release") counted(offsets, group);
        const answer = await inner.exchange({ ...request, settlements });
        const grants = answer.grants.map((grant) => ({
          ...grant,
          token: tokens.tell(group, grant.partition, Math.max(1, grant.token - (offsets.get(group) ?? 0)), grant.token),
        }));
        return { ...answer, grants };
      },
      renew: (request) =>
        inner.renew({
          ...request,
          items: request.items.map((item) => ({ ...item, token: tokens.real(groupOf(request), item.partition, item.token) })),
        }),
    };
  });

const highestToken = async (inner: Backend, stream: string, group: string): Promise<number> => {
  const leases = await inner.leases(stream, group, MUCH).catch(() => []);
  return leases.reduce((highest, { token }) => Math.max(highest, token), 0);
};

export const fetchingMutants: readonly Mutant[] = [
  withoutOption("filter-ignored", "a group is given every event, whatever its filter", (options) => ({
    ...options,
    filter: null,
  })),
  withoutOption("ordering-ignored", "later events of a key overtake earlier ones", (options) => ({
    ...options,
    ordering: "none",
  })),
  withoutOption("partition-order-by-key", "ordering by partition keeps the order of keys only", (options) =>
    options.ordering === "partition" ? { ...options, ordering: "key" } : options,
  ),
  withoutOption("inflight-not-bounded", "maxInflight is not kept", (options) => ({ ...options, maxInflight: null })),
  withoutOption("lease-length-ignored", "leases last as long as the default, whatever the group says", (options) => ({
    ...options,
    leaseMs: 30_000,
  })),
  fetchMutant("limit-ignored", "a fetch leases more than it was asked for", (fetch) => ({ ...fetch, limit: fetch.limit + 1 })),
  fetchMutant("runs-unbounded", "a run has more than was asked for", (fetch) => ({ ...fetch, runLimit: fetch.runLimit + 1 })),
  fetchMutant("runs-of-one", "a run has one delivery", (fetch) => ({ ...fetch, runLimit: 1 })),
  fetchMutant("max-bytes-ignored", "a fetch is not bounded by bytes", (fetch) => ({
    ...fetch,
    maxBytes: Number.MAX_SAFE_INTEGER,
  })),
  fetchMutant("partitions-ignored", "a fetch takes from partitions that were not asked for", (fetch) => ({
    ...fetch,
    partitions: null,
  })),
  fetchMutant("lease-length-of-fetch-ignored", "a fetch cannot ask for another length of lease", (fetch) => ({
    ...fetch,
    leaseMs: null,
  })),
  exchangeMutant("partitions-in-order", "higher partitions starve while lower ones have a backlog", inOrder),
  exchangeMutant("leases-shared", "a member that finds nothing is given what others hold", async (inner, request) => {
    const answer = await inner.exchange(request);
    if (request.fetch === null || answer.grants.length > 0) return answer;
    const leases = await inner.leases(request.stream, request.group, request.fetch.limit);
    return { ...answer, grants: await sharedGrants(inner, request, leases) };
  }),
  exchangeMutant("paused-group-fetches", "a paused group is given events", async (inner, request) => {
    const group = request.fetch === null ? null : await inner.getGroup(request.stream, request.group);
    if (group?.paused !== true) return inner.exchange(request);
    await inner.updateGroup(request.stream, request.group, { paused: false });
    const answer = await inner.exchange(request);
    await inner.updateGroup(request.stream, request.group, { paused: true });
    return answer;
  }),
  exchangeMutant(
    "leases-last-longer-than-told",
    "a lease ends later in the store than the member was told",
    async (inner, request) => {
      if (request.fetch === null) return inner.exchange(request);
      const lengthMs = request.fetch.leaseMs ?? (await inner.getGroup(request.stream, request.group)).options.leaseMs;
      const answer = await inner.exchange({ ...request, fetch: { ...request.fetch, leaseMs: lengthMs * 2 } });
      return { ...answer, grants: answer.grants.map((grant) => ({ ...grant, expiresAtMs: grant.leasedAtMs + lengthMs })) };
    },
  ),
  exchangeMutant(
    "innocents-die-with-the-poison",
    "every delivery of a batch whose last attempt ran out is dead-lettered",
    async (inner, request) => {
      if (request.fetch === null) return inner.exchange(request);
      const { options } = await inner.getGroup(request.stream, request.group);
      for (const { partition, sequence, token, attempt } of await inner.leases(request.stream, request.group, MUCH)) {
        const { state } = await inner.delivery(request.stream, request.group, partition, sequence);
        if (state !== "expired" || attempt < Math.max(1, options.maxAttempts - 1)) continue;
        const outcome = { kind: "reject", reason: "ran out", stack: null } as const;
        await inner.exchange({ ...request, settlements: [{ partition, token, sequences: [sequence], outcome }], fetch: null });
      }
      return inner.exchange(request);
    },
  ),
  mutant(
    "members-not-told-apart",
    "what a member holds is not known when it fetches, so that last attempts run beside it",
    (inner) => {
      let fetches = 0;
      return {
        exchange: (request) => {
          fetches += 1;
          return inner.exchange(
            request.fetch === null ? request : { ...request, fetch: { ...request.fetch, consumerId: `fetch ${fetches}` } },
          );
        },
      };
    },
  ),
  exchangeMutant("suspects-not-halved", "crash suspects are given all at once, however often they crashed", allSuspects),
  exchangeMutant(
    "dies-without-dead-letter",
    "a delivery that ran out of attempts by expiry vanishes without a dead letter",
    async (inner, request) => {
      const answer = await inner.exchange(request);
      for (const { partition, sequence } of answer.died) {
        const [event] = await inner.read({
          stream: request.stream,
          partition,
          after: sequence - 1,
          until: sequence,
          order: "asc",
          limit: 1,
          maxBytes: MUCH,
        });
        await inner.redrive({
          stream: request.stream,
          group: request.group,
          select: { kind: "ids", ids: [event?.id ?? ""] },
          purge: true,
        });
      }
      return answer;
    },
  ),
  mutant(
    "expiry-by-member-clock",
    "a lease is judged by the clock of whoever asks, and some clocks are an hour ahead",
    (inner) => {
      let skewMs = 0;
      return {
        open: ({ clock, migrate }) => inner.open({ migrate, clock: clock === null ? null : skewed(clock, () => skewMs) }),
        exchange: (request) => {
          const name = request.fetch?.consumerId ?? "";
          skewMs = name.split("").reduce((sum, character) => sum + character.charCodeAt(0), 0) % 3 === 1 ? HOUR_MS : 0;
          const answer = inner.exchange(request);
          skewMs = 0;
          return answer;
        },
      };
    },
  ),
  mutant("time-of-the-host", "the injected clock is ignored", (inner) => ({
    open: ({ migrate }) => inner.open({ clock: null, migrate }),
  })),
  renumbered("token-reused-after-release", "after a release the same token is given again", () => ({}), true),
  renumbered("tokens-restart-after-delete", "the tokens of a group that is created again start at 1", (inner, offsets) => ({
    deleteGroup: async (stream, group) => {
      const highest = await highestToken(inner, stream, group);
      offsets.set(`${stream}/${group}`, highest);
      return inner.deleteGroup(stream, group);
    },
  })),
  renumbered("tokens-restart-after-reset", "a reset starts the tokens of a group again", (inner, offsets) => ({
    reset: async (stream, group, start) => {
      const highest = await highestToken(inner, stream, group);
      const reopened = await inner.reset(stream, group, start);
      offsets.set(`${stream}/${group}`, highest + 1);
      return reopened;
    },
  })),
  mutant("redrive-keeps-attempts", "what is redriven goes on with the attempts it had", (inner) => {
    const spent = new Map<string, number>();
    return {
      redrive: async (request) => {
        const letters = await inner.deadLetters({ ...request, limit: MUCH, after: null, where: null });
        for (const { partition, sequence, attempts } of request.purge ? [] : letters)
          spent.set(place(request, partition, sequence), attempts);
        return inner.redrive(request);
      },
      exchange: async (request) => {
        const answer = await inner.exchange(request);
        const grants = answer.grants.map((grant) => ({
          ...grant,
          attempt: grant.attempt + (spent.get(place(request, grant.partition, grant.events[0]?.sequence ?? 0)) ?? 0),
        }));
        return { ...answer, grants };
      },
    };
  }),
];

const skewed = (clock: Clock, skewMs: () => number): Clock => ({
  now: () => clock.now() + skewMs(),
  monotonic: () => clock.monotonic(),
  schedule: (delayMs, callback, options) => clock.schedule(delayMs, callback, options),
});
