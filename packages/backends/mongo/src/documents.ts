/** The documents of each collection. What their `_id`s are is in `ids.ts`. */
import type { progress } from "@rheo/core/internal";
import type { Binary, Document } from "mongodb";

type Stored<Kept extends { closed: Uint8Array | null }> = Omit<Kept, "closed"> & { readonly closed: Binary | null };

/** Of `streams`; its `_id` is the name. */
export interface StreamDocument {
  readonly _id: string;
  /** Never used again, so that a stream of the same name later finds nothing of this one. */
  readonly stream: number;
  readonly partitions: number;
  readonly createdAtMs: number;
}

/** Of `partitions`: the end of each partition. Appending changes it in the transaction that adds the events. */
export interface PartitionDocument {
  readonly _id: string;
  readonly stream: number;
  readonly partition: number;
  readonly firstSequence: number;
  readonly highWatermark: number;
  readonly latestMs: number | null;
  readonly largestBytes: number;
  /** Rises when a group is made, so that this and a trim cannot pass each other unseen. */
  readonly groupsMade: number;
}

/** Of `events`. */
export interface EventDocument {
  readonly _id: string;
  readonly stream: number;
  readonly partition: number;
  readonly sequence: number;
  readonly id: string;
  readonly timestampMs: number;
  /** Greatest timestamp of the partition up to here. */
  readonly latestMs: number;
  readonly bytes: number;
  readonly type: string | null;
  readonly key: string | null;
  /** The texts are the truth. */
  readonly metadataText: string;
  readonly payloadText: string;
  /** The same for queries; absent where BSON cannot carry it. */
  readonly metadata?: unknown;
  readonly payload?: unknown;
}

/** Of `groups`. */
export interface GroupDocument {
  readonly _id: string;
  readonly group: number;
  readonly stream: number;
  readonly name: string;
  /** JSON: a filter may have names that BSON cannot query. */
  readonly options: string;
  readonly paused: boolean;
  readonly createdAtMs: number;
  /** Rises when deliveries were re-opened, so that change streams tell of it. */
  readonly reopened?: number;
}

/** Of `progress`: a head, and counts of what stands beside it, so that what is not there need not be asked for. */
export interface HeadDocument extends progress.Head {
  readonly _id: string;
  readonly partition: number;
  /** Rises with every change in this partition of the group: the fence between two operations. */
  readonly version: number;
  readonly exceptions: number;
  /** Exceptions that are leased. */
  readonly leased: number;
  /** No exception is due earlier; null when none ever is. */
  readonly dueAtMs: number | null;
  readonly deadLetters: number;
  readonly revocations: number;
}

interface InPartition {
  readonly _id: string;
  readonly group: number;
  readonly partition: number;
}

export type LeaseDocument = InPartition & Stored<progress.RangeLease>;
export type ExceptionDocument = InPartition & { readonly kind: "exception" } & progress.Exception;
export type DeadLetterDocument = InPartition & { readonly kind: "deadLetter" } & progress.DeadLetter;
export type RevocationDocument = InPartition & Stored<progress.Revocation>;

export interface MemberDocument {
  readonly _id: string;
  readonly group: number;
  readonly consumerId: string;
  readonly lastSeenAtMs?: number;
  /** Rises with each decision that looked at everything this member holds. */
  readonly version: number;
}

/** Of `progress`, whatever its kind. */
export interface ProgressDocument extends Document {
  readonly _id: string;
}

/** Of `meta`. */
export type MetaDocument =
  | { readonly _id: string; readonly stream: number | null; readonly groups: readonly number[] }
  | { readonly _id: "schema"; readonly version: number; readonly storeId: string }
  | { readonly _id: "ids"; readonly last: number }
  | { readonly _id: "tokens"; readonly floor: number };
