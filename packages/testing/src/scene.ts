/** One stream with one group, and what tests do with them through the port. */
import type {
  AppendRequest,
  Backend,
  BackendContext,
  ExchangeRequest,
  Grant,
  NewEvent,
  ResolvedGroupOptions,
  Settlement,
} from "@rheo/core";
import { RheoError } from "@rheo/core";

export const STREAM = "s";
export const GROUP = "g";
export const REAL_TIME: BackendContext = { clock: null, migrate: true };
export const OPTIONS: ResolvedGroupOptions = {
  maxAttempts: 5,
  leaseMs: 30_000,
  retry: { minMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0 },
  ordering: "none",
  filter: null,
  maxInflight: null,
};

let made = 0;

export const event = (payload: unknown = {}, partition = 0): NewEvent => {
  const text = JSON.stringify(payload);
  return {
    partition,
    id: `id-${process.pid}-${++made}`,
    timestampMs: null,
    type: null,
    key: null,
    metadata: "{}",
    payload: text,
    bytes: text.length + 2,
    expectedSequence: null,
    values: { metadata: {}, payload },
  };
};

export const request = (count: number, partitions = 1, payload: unknown = {}): AppendRequest => ({
  stream: STREAM,
  partitions,
  events: Array.from({ length: count }, (_, index) => event(payload, index % partitions)),
});

/** A stream with `count` events in it and a group from the beginning. */
export const fill = async (backend: Backend, count: number, options: Partial<ResolvedGroupOptions> = {}): Promise<void> => {
  await backend.createStream(STREAM, 1);
  await backend.createGroup(STREAM, GROUP, { ...OPTIONS, ...options }, { kind: "earliest" });
  for (let left = count; left > 0; left -= 5_000) await backend.append([request(Math.min(left, 5_000))]);
};

export const fetching = (limit: number, settlements: readonly Settlement[] = [], consumerId = "a"): ExchangeRequest => ({
  stream: STREAM,
  group: GROUP,
  settlements,
  fetch: { limit, maxBytes: 8_388_608, consumerId, leaseMs: null, partitions: null, runLimit: 1 },
});

export const settling = (settlements: readonly Settlement[], transaction?: unknown): ExchangeRequest => ({
  stream: STREAM,
  group: GROUP,
  settlements,
  fetch: null,
  ...(transaction === undefined ? {} : { transaction }),
});

export const acks = (grants: readonly Grant[]): Settlement[] =>
  grants.map(({ partition, token, events }) => ({
    partition,
    token,
    sequences: events.map(({ sequence }) => sequence),
    outcome: { kind: "ack" },
  }));

/** Acks one delivery of a grant. */
export const ackOf = (grant: Grant | undefined, sequence: number): Settlement => ({
  partition: grant?.partition ?? -1,
  token: grant?.token ?? -1,
  sequences: [sequence],
  outcome: { kind: "ack" },
});

export const sequencesOf = (grants: readonly Grant[]): number[] =>
  grants.flatMap(({ events }) => events.map(({ sequence }) => sequence));

/** Fetches and acks until there is nothing more; how many. */
export const drain = async (backend: Backend, limit: number, most: number = Number.POSITIVE_INFINITY): Promise<number> => {
  let settlements: Settlement[] = [];
  for (let count = 0; ; ) {
    const { grants } = await backend.exchange(fetching(limit, settlements));
    settlements = acks(grants);
    count += sequencesOf(grants).length;
    if (grants.length > 0 && count < most) continue;
    if (settlements.length > 0) await backend.exchange(settling(settlements));
    return count;
  }
};

/** Repeats a call until the store is there again. */
export const insist = async <Result>(call: () => Promise<Result>): Promise<Result> => {
  for (let left = 400; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (left === 0 || !(RheoError.is(error, "unavailable") || RheoError.is(error, "outcome_unknown"))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
};

/** Bound on waiting for a wake-up. */
const WOKEN_MS = 5_000;

/** Waits until a backend knows that wake-ups come through from everywhere. */
export const untilHearing = async (backend: Backend): Promise<void> => {
  for (const endMs = performance.now() + WOKEN_MS; backend.hearsAll?.() !== true; ) {
    if (performance.now() > endMs) throw new Error("it never hears");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** Counts wakes, and waits for the next. */
export const watch = (backend: Backend): { streams: (string | null)[]; next: () => Promise<string | null> } => {
  const streams: (string | null)[] = [];
  let resolve: ((stream: string | null) => void) | null = null;
  backend.subscribe(({ stream }) => {
    streams.push(stream);
    resolve?.(stream);
    resolve = null;
  });
  const next = (): Promise<string | null> =>
    new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error("nobody was woken")), WOKEN_MS);
      resolve = (stream) => {
        clearTimeout(timer);
        done(stream);
      };
    });
  return { streams, next };
};
