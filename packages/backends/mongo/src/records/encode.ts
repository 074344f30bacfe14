/** Records as documents, and back. */
import type { DeadLetter, Exception, Head, RangeLease, Revocation } from "@rheo/core/internal";
import { Binary } from "mongodb";
import type { DeadLetterDocument, ExceptionDocument, LeaseDocument, ProgressDocument, RevocationDocument } from "../documents.ts";
import { deadLetterId, exceptionId, leaseId, revocationId } from "../ids.ts";

/** Of a group that begins. */
export const newHead = (_id: string, partition: number, head: Head): ProgressDocument => ({
  _id,
  partition,
  version: 1,
  ...head,
  exceptions: 0,
  leased: 0,
  dueAtMs: null,
  deadLetters: 0,
  revocations: 0,
});

const toBinary = (bits: Uint8Array | null): Binary | null => (bits === null ? null : new Binary(bits));
/** Drivers give their own class, or with promoteBuffers a Buffer. */
const toBits = (stored: Binary | Uint8Array | null): Uint8Array | null => {
  if (stored === null) return null;
  return stored instanceof Uint8Array ? new Uint8Array(stored) : new Uint8Array(stored.buffer.subarray(0, stored.position));
};

export const leaseDocument = (group: number, partition: number, lease: RangeLease): ProgressDocument => ({
  _id: leaseId(group, partition, lease.token, lease.first),
  group,
  partition,
  ...lease,
  closed: toBinary(lease.closed),
});

export const toLease = ({
  _id,
  group: _group,
  closed,
  ...lease
}: LeaseDocument): RangeLease & { readonly partition: number } => ({
  ...lease,
  closed: toBits(closed),
});

export const exceptionDocument = (group: number, partition: number, exception: Exception): ProgressDocument => ({
  _id: exceptionId(group, partition, exception.sequence),
  kind: "exception",
  group,
  partition,
  ...exception,
});

export const toException = ({
  _id,
  kind: _kind,
  group: _group,
  ...exception
}: ExceptionDocument): Exception & { readonly partition: number } => exception;

export const deadLetterDocument = (group: number, partition: number, letter: DeadLetter): ProgressDocument => ({
  _id: deadLetterId(group, partition, letter.sequence),
  kind: "deadLetter",
  group,
  partition,
  ...letter,
});

export const toDeadLetter = ({
  _id,
  kind: _kind,
  group: _group,
  ...letter
}: DeadLetterDocument): DeadLetter & { readonly partition: number } => letter;

export const revocationDocument = (group: number, partition: number, revocation: Revocation): ProgressDocument => ({
  _id: revocationId(group, partition, revocation.token, revocation.first),
  group,
  partition,
  ...revocation,
  closed: toBinary(revocation.closed),
});

export const toRevocation = ({ token, first, last, closed, why }: RevocationDocument): Revocation => ({
  token,
  first,
  last,
  closed: toBits(closed),
  why,
});
