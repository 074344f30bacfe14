/** Every failure a caller can act on carries one of these codes. */
export type RheoErrorCode =
  | "stream_not_found"
  | "group_not_found"
  | "already_exists"
  | "stale_lease"
  | "id_conflict"
  | "sequence_conflict"
  | "invalid_name"
  | "invalid_payload"
  | "invalid_option"
  | "invalid_partition"
  | "invalid_query"
  | "event_too_large"
  | "cursor_not_found"
  | "confirm_required"
  | "nothing_to_replay"
  | "unsupported"
  | "unavailable"
  | "outcome_unknown"
  | "schema_outdated"
  | "closed"
  | "aborted"
  | "draining";

/**
 * Why a lease is stale (F2): somebody else claimed the delivery since (`reclaimed`), this lease has already been settled
 * (`settled`), a replay or reset re-opened the delivery (`reset`), or the event, group or stream is no longer there (`gone`).
 */
export type StaleReason = "reclaimed" | "settled" | "reset" | "gone";

/** What a {@link RheoError} is about: the names and numbers a program would otherwise have to parse from the message. */
export interface RheoErrorDetails {
  readonly stream?: string;
  readonly group?: string;
  readonly partition?: number;
  readonly sequence?: number;
  readonly id?: string;
  /** Position of the offender in the array given to `appendMany` or `settle`, from 0. */
  readonly index?: number;
  /** Where in a payload or filter the fault is, such as `payload.items[3].price`. */
  readonly path?: string;
  /** With `stale_lease`. */
  readonly why?: StaleReason;
}

/**
 * The one error class of Rheo. `code` says what kind of failure it is, `message` what failed, on what and what to do,
 * `details` the same as data. An exception of a driver is always the `cause`.
 *
 * `unavailable` means that nothing was applied; `outcome_unknown` that the write may or may not have happened (F7).
 */
export class RheoError extends Error {
  readonly code: RheoErrorCode;
  readonly details: RheoErrorDetails;

  constructor(code: RheoErrorCode, message: string, details: RheoErrorDetails = {}, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "RheoError";
    this.code = code;
    this.details = details;
  }

  /** The same error, of item `index` of a batch. */
  at(index: number): RheoError {
    return new RheoError(this.code, `Event ${index}: ${this.message}`, { ...this.details, index }, { cause: this.cause });
  }

  /** True for a RheoError of any copy of this package, optionally of one code. */
  static is(error: unknown, code?: RheoErrorCode): error is RheoError {
    return error instanceof Error && error.name === "RheoError" && "code" in error && (code === undefined || error.code === code);
  }
}

export const streamNotFound = (stream: string): RheoError =>
  new RheoError("stream_not_found", `Stream "${stream}" does not exist. Create it with createStream or ensureStream.`, {
    stream,
  });

export const groupNotFound = (stream: string, group: string): RheoError =>
  new RheoError(
    "group_not_found",
    `Group "${group}" of stream "${stream}" does not exist. Create it with createGroup or ensureGroup.`,
    { stream, group },
  );

const STALE: Record<StaleReason, string> = {
  reclaimed: "its lease ran out and another consumer has claimed the delivery since",
  settled: "this lease has already been settled",
  reset: "a replay or reset has re-opened the delivery since",
  gone: "the event, group or stream is no longer there",
};

export const staleLease = (
  lease: { stream: string; group: string; partition: number; sequence: number },
  why: StaleReason,
): RheoError =>
  new RheoError(
    "stale_lease",
    `The lease on ${lease.stream}/${lease.partition}@${lease.sequence} for group "${lease.group}" is stale: ${STALE[why]}. ` +
      "Nothing was changed; drop the work or make its effects idempotent.",
    { stream: lease.stream, group: lease.group, partition: lease.partition, sequence: lease.sequence, why },
  );

/** Whether a stream or group is not there (G5). */
export const isMissing = (cause: unknown): boolean =>
  RheoError.is(cause, "stream_not_found") || RheoError.is(cause, "group_not_found");
