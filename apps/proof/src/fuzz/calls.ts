/** Every public method of an instance, each with arguments that it takes: what a fuzzer spoils. */
import { ack, type Lease, type Rheo, reject, release, retry } from "@rheo/core";

export const STREAM = "orders";
export const GROUP = "billing";

/** What the arguments are made of. */
export interface Scene {
  readonly rheo: Rheo;
  /** Held; one for each call that settles. */
  readonly lease: Lease;
  readonly cursor: string;
  readonly eventId: string;
}

export interface Call {
  readonly name: string;
  /** It may wait for something to happen. */
  readonly mayWait?: boolean;
  arguments(scene: Scene): unknown[];
}

const query = (): object => ({
  type: "placed",
  key: "a",
  correlationId: "c",
  where: { "payload.total": { gt: 1, in: [1, 2] }, and: [{ type: "placed" }], not: { key: "z" } },
  partition: 0,
  from: new Date(0),
  to: new Date("2100-01-01"),
  afterSequence: { 0: 0 },
  untilSequence: 9,
  order: "desc",
});
const event = (): object => ({
  payload: { total: 3, lines: [{ sku: "x" }] },
  type: "placed",
  key: "a",
  metadata: { correlationId: "c", n: 1 },
  timestamp: new Date("2026-01-01"),
  partition: 0,
});
const group = (): object => ({
  maxAttempts: 3,
  leaseMs: 1_000,
  retry: { minMs: 1, maxMs: 10, factor: 2, jitter: 0 },
  ordering: "key",
  filter: { type: "placed" },
  maxInflight: 10,
  start: { after: { 0: 1 } },
});

const ofStream =
  (...more: readonly (() => unknown)[]) =>
  (): unknown[] => [STREAM, ...more.map((make) => make())];
const ofGroup =
  (...more: readonly (() => unknown)[]) =>
  (): unknown[] => [STREAM, GROUP, ...more.map((make) => make())];
const ofLease =
  (options: object) =>
  ({ lease }: Scene): unknown[] => [{ ...lease }, { ...options }];
const items = ({ lease }: Scene): unknown[] =>
  [ack(), retry("later", { delayMs: 5 }), reject(new Error("no")), release()].map((outcome) => ({
    lease: { ...lease },
    outcome: { ...outcome },
  }));

export const CALLS: readonly Call[] = [
  { name: "createStream", arguments: () => ["fresh", { partitions: 2 }] },
  { name: "ensureStream", arguments: ofStream(() => ({ partitions: 2 })) },
  { name: "listStreams", arguments: () => [{ after: "a", limit: 10 }] },
  { name: "streamInfo", arguments: ofStream() },
  { name: "deleteStream", arguments: ofStream(() => ({ confirm: true })) },
  { name: "append", arguments: ofStream(event, () => ({ signal: new AbortController().signal })) },
  {
    name: "appendMany",
    arguments: ofStream(
      () => [event(), event()],
      () => ({ signal: new AbortController().signal }),
    ),
  },
  { name: "getEvent", arguments: ({ eventId }) => [STREAM, eventId] },
  { name: "query", arguments: ofStream(() => ({ ...query(), limit: 5 })) },
  { name: "queryPage", arguments: ({ cursor }) => [STREAM, { limit: 1, cursor }] },
  { name: "scan", arguments: ofStream(query) },
  {
    name: "tail",
    mayWait: true,
    arguments: ofStream(() => ({ type: "placed", afterSequence: 0, signal: new AbortController().signal })),
  },
  { name: "count", arguments: ofStream(() => ({ type: "placed", where: { "payload.total": { gte: 1 } }, most: 5 })) },
  { name: "createIndex", arguments: ofStream(() => "payload.total") },
  { name: "dropIndex", arguments: ofStream(() => "payload.total") },
  { name: "listIndexes", arguments: ofStream() },
  { name: "lineageOf", arguments: ({ eventId }) => [STREAM, eventId, { streams: [STREAM], limit: 10 }] },
  { name: "trim", arguments: ofStream(() => ({ keepLast: 3, partitions: [0], force: false, dryRun: false })) },
  { name: "createGroup", arguments: () => [STREAM, "fresh", group()] },
  { name: "ensureGroup", arguments: () => [STREAM, "fresh", group()] },
  { name: "updateGroup", arguments: ofGroup(() => ({ maxAttempts: 4, retry: { minMs: 2 }, filter: null, maxInflight: null })) },
  { name: "deleteGroup", arguments: ofGroup(() => ({ confirm: true })) },
  { name: "pauseGroup", arguments: ofGroup() },
  { name: "resumeGroup", arguments: ofGroup() },
  { name: "listGroups", arguments: ofStream(() => ({ after: "a", limit: 10 })) },
  {
    name: "fetch",
    mayWait: true,
    arguments: ofGroup(() => ({
      limit: 2,
      consumerId: "one",
      leaseMs: 1_000,
      partitions: [0, 1],
      maxBytes: 1_000,
      runLimit: 2,
      waitMs: 0,
      signal: new AbortController().signal,
    })),
  },
  { name: "ack", arguments: ofLease({}) },
  { name: "nack", arguments: ofLease({ reason: "later", delayMs: 5 }) },
  { name: "reject", arguments: ofLease({ reason: new Error("no") }) },
  { name: "release", arguments: ofLease({}) },
  { name: "settle", arguments: (scene) => [items(scene), {}] },
  { name: "renew", arguments: ofLease({ leaseMs: 1_000 }) },
  { name: "renewMany", arguments: ({ lease }) => [[{ ...lease }], { leaseMs: 1_000 }] },
  { name: "replay", arguments: ofGroup(() => ({ fromSequence: 0, partitions: [0], dryRun: true })) },
  { name: "replay", arguments: ofGroup(() => ({ query: query() })) },
  { name: "replay", arguments: ofGroup(() => ({ from: new Date(0) })) },
  { name: "resetGroup", arguments: ofGroup(() => ({ confirm: true, start: { at: new Date(0) } })) },
  { name: "redrive", arguments: ({ eventId }) => [STREAM, GROUP, { eventIds: [eventId] }] },
  { name: "redrive", arguments: ofGroup(() => ({ where: { type: "placed" } })) },
  { name: "purgeDeadLetters", arguments: ofGroup(() => ({ all: true, confirm: true })) },
  { name: "lag", arguments: ofGroup() },
  { name: "groupInfo", arguments: ofGroup() },
  { name: "explainLag", arguments: ofGroup() },
  { name: "deadLetters", arguments: ({ eventId }) => [STREAM, GROUP, { limit: 2, after: eventId, where: { type: "placed" } }] },
  { name: "leases", arguments: ofGroup(() => ({ limit: 2 })) },
  { name: "eventHistory", arguments: ({ eventId }) => [STREAM, eventId] },
  { name: "whenCaughtUp", mayWait: true, arguments: ofGroup(() => ({ signal: new AbortController().signal })) },
];
