/** What the read-only operations return, in the caller's terms: dates for milliseconds, events for records. */
import type {
  DeadLetterRecord,
  DeliveryState,
  GroupRecord,
  GroupStats,
  Holder,
  LeaseRecord,
  PartitionProgress,
  Watermark,
} from "./backend.ts";
import { type Event, type EventRecord, toEvent } from "./event.ts";
import type { ResolvedGroupOptions } from "./group.ts";

/** How far a group is behind in one partition. */
export interface PartitionLag {
  readonly partition: number;
  readonly frontier: number;
  readonly highWatermark: number;
  /** highWatermark − frontier; 0 only when every delivery is acked or dead (P1). */
  readonly lag: number;
  /** First retained sequence. */
  readonly firstSequence: number;
  /** Deliveries that a forced trim took away unsettled, or that are missing from a damaged log. */
  readonly skipped: number;
}

/** How far a group is behind, in sum and by partition (P1). */
export interface Lag {
  readonly lag: number;
  readonly partitions: readonly PartitionLag[];
}

export const toLag = (progress: readonly PartitionProgress[]): Lag => {
  const partitions = progress.map((part) => ({
    partition: part.partition,
    frontier: part.frontier,
    highWatermark: part.highWatermark,
    lag: part.highWatermark - part.frontier,
    firstSequence: part.firstSequence,
    skipped: part.skipped,
  }));
  return { lag: partitions.reduce((sum, part) => sum + part.lag, 0), partitions };
};

/** A stream, with the ends of its log in each partition. */
export interface StreamInfo {
  readonly name: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly firstSequence: number;
    readonly highWatermark: number;
    readonly events: number;
  }[];
  readonly events: number;
  readonly createdAt: Date;
}

export const toStreamInfo = (name: string, createdAtMs: number, watermarks: readonly Watermark[]): StreamInfo => {
  const partitions = watermarks.map((mark) => ({ ...mark, events: mark.highWatermark - mark.firstSequence + 1 }));
  return { name, partitions, events: partitions.reduce((sum, part) => sum + part.events, 0), createdAt: new Date(createdAtMs) };
};

/** A group with its options. */
export interface Group {
  readonly stream: string;
  readonly name: string;
  readonly options: ResolvedGroupOptions;
  readonly paused: boolean;
  readonly createdAt: Date;
}

export const toGroup = ({ stream, name, options, paused, createdAtMs }: GroupRecord): Group => ({
  stream,
  name,
  options,
  paused,
  createdAt: new Date(createdAtMs),
});

/** A group with its lag, its counts and its members. */
export interface GroupInfo extends Group {
  readonly lag: number;
  /** Unexpired leases. */
  readonly inflight: number;
  readonly retrying: number;
  readonly deadLetters: number;
  /** Timestamp of the oldest event not settled; null when caught up. */
  readonly oldestUnsettledAt: Date | null;
  readonly members: readonly { readonly consumerId: string; readonly leases: number; readonly lastSeenAt: Date }[];
}

export const toGroupInfo = (group: GroupRecord, lag: Lag, stats: GroupStats): GroupInfo => ({
  ...toGroup(group),
  lag: lag.lag,
  inflight: stats.inflight,
  retrying: stats.retrying,
  deadLetters: stats.deadLetters,
  oldestUnsettledAt: stats.oldestUnsettledAtMs === null ? null : new Date(stats.oldestUnsettledAtMs),
  members: stats.members.map(({ consumerId, leases, lastSeenAtMs }) => ({
    consumerId,
    leases,
    lastSeenAt: new Date(lastSeenAtMs),
  })),
});

/** What holds the frontier of a partition (P3), or where a group stands with one event. */
export interface DeliveryInfo {
  readonly partition: number;
  readonly sequence: number;
  /** `acked` is also what the group's filter dropped and what was before its start. */
  readonly state: "pending" | "leased" | "retrying" | "acked" | "dead";
  /** Leased, but the lease has run out, and others may claim it. */
  readonly expired: boolean;
  /** Pending behind an earlier event of its key (G9). */
  readonly parked: boolean;
  /** Starts so far; 0 when it was not offered yet. */
  readonly attempt: number;
  /** The current or last holder. */
  readonly consumerId: string | null;
  /** Since when it is in this state, where that is known. */
  readonly since: Date | null;
  /** When it can be claimed: the expiry of a lease or the end of a delay. */
  readonly until: Date | null;
  readonly lastError: string | null;
}

export const toDeliveryInfo = ({ partition, sequence, delivery }: Omit<Holder, "highWatermark">): DeliveryInfo => ({
  ...NOTHING_KNOWN,
  partition,
  sequence,
  ...described(delivery),
});

const NOTHING_KNOWN = { expired: false, parked: false, attempt: 0, consumerId: null, since: null, until: null, lastError: null };

const described = (delivery: DeliveryState): Pick<DeliveryInfo, "state"> & Partial<DeliveryInfo> => {
  switch (delivery.state) {
    case "leased":
    case "expired": {
      const { attempt, consumerId, lastError, leasedAtMs, expiresAtMs } = delivery;
      const expired = delivery.state === "expired";
      const since = new Date(expired ? expiresAtMs : leasedAtMs);
      return { state: "leased", expired, attempt, consumerId, lastError, since, until: new Date(expiresAtMs) };
    }
    case "retrying": {
      const { attempt, lastError, failedAtMs, dueAtMs } = delivery;
      return { state: "retrying", attempt, lastError, since: new Date(failedAtMs), until: new Date(dueAtMs) };
    }
    case "dead":
      return { state: "dead", attempt: delivery.attempt, since: new Date(delivery.deadAtMs), lastError: delivery.lastError };
    case "pending":
      return { state: "pending", attempt: delivery.attempt, lastError: delivery.lastError };
    case "parked":
      return { state: "pending", parked: true };
    case "undelivered":
      return { state: "pending" };
    case "settled":
      return { state: "acked" };
    default:
      return delivery satisfies never;
  }
};

export interface PartitionHolder extends DeliveryInfo {
  readonly frontier: number;
  readonly highWatermark: number;
  readonly lag: number;
}

/** A live lease, for people who look; it cannot settle. */
export interface LeaseInfo {
  readonly id: string;
  readonly stream: string;
  readonly group: string;
  readonly partition: number;
  readonly sequence: number;
  readonly token: number;
  readonly attempt: number;
  readonly consumerId: string;
  readonly leasedAt: Date;
  readonly expiresAt: Date;
}

export const leaseId = (partition: number, sequence: number, token: number): string => `${partition}.${sequence}.${token}`;

export const toLeaseInfo = (stream: string, group: string, { leasedAtMs, expiresAtMs, ...lease }: LeaseRecord): LeaseInfo => ({
  id: leaseId(lease.partition, lease.sequence, lease.token),
  stream,
  group,
  ...lease,
  leasedAt: new Date(leasedAtMs),
  expiresAt: new Date(expiresAtMs),
});

/** A dead letter: what failed, how often, why and when (T6). */
export interface DeadLetterInfo {
  readonly eventId: string;
  readonly stream: string;
  readonly group: string;
  readonly partition: number;
  readonly sequence: number;
  readonly attempts: number;
  readonly reason: string;
  readonly stack?: string;
  readonly consumerId: string;
  readonly firstFailedAt: Date;
  readonly deadAt: Date;
  /** Null when the event was trimmed, or what is stored of it cannot be read. */
  readonly event: Event | null;
}

export const toDeadLetterInfo = (stream: string, group: string, letter: DeadLetterRecord): DeadLetterInfo => ({
  eventId: letter.eventId,
  stream,
  group,
  partition: letter.partition,
  sequence: letter.sequence,
  attempts: letter.attempts,
  reason: letter.reason,
  ...(letter.stack === null ? {} : { stack: letter.stack }),
  consumerId: letter.consumerId,
  firstFailedAt: new Date(letter.firstFailedAtMs),
  deadAt: new Date(letter.deadAtMs),
  event: letter.event === null ? null : readable(stream, letter.event),
});

const readable = (stream: string, record: EventRecord): Event | null => {
  try {
    return toEvent(stream, record);
  } catch {
    return null; // it may be dead for that very reason, which `reason` gives
  }
};
