/** Bounds that hold on every backend (L8), each with its reason. Sizes are UTF-8 bytes. */
export const LIMITS = {
  /** Default bound on one event; MongoDB and PostgreSQL stay comfortable far above it. */
  eventBytes: 1_048_576,
  /** The most that `maxEventBytes` may be raised to: MongoDB's document size. */
  maxEventBytes: 16_777_216,
  keyBytes: 1_024,
  idBytes: 255,
  typeBytes: 255,
  /** Events of one `appendMany`: bounds the length of one write transaction. */
  appendEvents: 10_000,
  appendBytes: 16_777_216,
  nameLength: 120,
  partitions: 1_024,
  /** Nesting of a payload: far above any real one, far below where recursive parsers overflow. */
  payloadDepth: 128,
  /** Leases of one `fetch`. */
  fetchLimit: 10_000,
  /** Default bytes of one `fetch`. */
  fetchBytes: 8_388_608,
  /** Default leases in flight per partition of a group (G8). */
  inflightPerPartition: 10_000,
  /** Events parked behind a busy key, per partition: how far a fetch looks past blocked keys (G9). */
  parkedPerPartition: 1_000,
  /** Open exceptions per partition above which no new events are offered, so that state stays bounded. */
  exceptionsPerPartition: 100_000,
  /** Events examined by one fetch of a filtered group, so that one call stays short. */
  scanPerFetch: 10_000,
  /** Reason of a failure as stored. */
  reasonBytes: 4_096,
  stackBytes: 16_384,
  /** The longest lease, delay or age: longer ones are a mistake in the unit. */
  durationMs: 31_622_400_000,
  /** Rows of one page of an inspection. */
  pageSize: 1_000,
} as const;
