/** Public settle and renew calls as batches for the port, and the answers back in the caller's order. */
import type { RenewAnswer, RenewRequest, Settlement, SettleOutcome, SettleResult } from "./backend.ts";
import { RheoError } from "./errors.ts";
import type { LeaseRef, Renewal, SettleAnswer } from "./lease.ts";
import { parseName } from "./names.ts";
import { readable } from "./options.ts";

/** Items of one group: where each came from, and what goes to the port. */
export interface GroupBatch<Part> {
  readonly stream: string;
  readonly group: string;
  readonly parts: { readonly part: Part; readonly indexes: number[] }[];
}

/** What settling and renewing need of a lease, read once. */
export type HeldLease = LeaseRef & { readonly consumerId: string | null };

/** @throws invalid_option - not a lease */
export const parseLease = (lease: unknown, index: number): HeldLease => {
  const notOne = (cause?: unknown): RheoError =>
    new RheoError("invalid_option", `Item ${index} is not a lease. Pass what fetch returned.`, { index }, { cause });
  if (typeof lease !== "object" || lease === null) throw notOne();
  const read = (name: string): unknown => readable(() => Reflect.get(lease, name), notOne);
  const [partition, sequence, token, attempt, consumerId] = ["partition", "sequence", "token", "attempt", "consumerId"].map(read);
  if (!isWhole(partition, 0) || !isWhole(sequence, 1) || !isWhole(token, 1)) throw notOne();
  return {
    stream: parseName("stream", read("stream")),
    group: parseName("group", read("group")),
    partition,
    sequence,
    token,
    ...(isWhole(attempt, 1) ? { attempt } : {}),
    consumerId: typeof consumerId === "string" ? parseName("consumer", consumerId) : null,
  };
};

const isWhole = (value: unknown, min: number): value is number => Number.isSafeInteger(value) && (value as number) >= min; // just checked

type Collected<Part extends { readonly sequences: number[] }> = Map<string, GroupBatch<Part>>;

/** Adds an item, to the last part of its group if that is of the same lease range and the sequences rise. */
const collect = <Part extends { readonly partition: number; readonly token: number; readonly sequences: number[] }>(
  batches: Collected<Part>,
  lease: LeaseRef,
  index: number,
  isSame: (part: Part) => boolean,
  make: () => Part,
): void => {
  const name = `${lease.stream}/${lease.group}`;
  const batch = batches.get(name) ?? { stream: lease.stream, group: lease.group, parts: [] };
  batches.set(name, batch);
  const last = batch.parts[batch.parts.length - 1];
  const previous = last?.part.sequences[last.part.sequences.length - 1] ?? 0;
  if (
    last !== undefined &&
    last.part.partition === lease.partition &&
    last.part.token === lease.token &&
    lease.sequence > previous &&
    isSame(last.part)
  ) {
    last.part.sequences.push(lease.sequence);
    last.indexes.push(index);
  } else batch.parts.push({ part: make(), indexes: [index] });
};

type MutableSettlement = Settlement & { readonly sequences: number[] };

export const settlementBatches = (
  items: readonly { readonly lease: LeaseRef; readonly outcome: SettleOutcome }[],
): GroupBatch<Settlement>[] => {
  const batches: Collected<MutableSettlement> = new Map();
  items.forEach(({ lease, outcome }, index) => {
    const { partition, token, sequence } = lease;
    const isSame = (part: Settlement): boolean =>
      part.outcome === outcome || (part.outcome.kind === "ack" && outcome.kind === "ack");
    collect(batches, lease, index, isSame, () => ({ partition, token, sequences: [sequence], outcome }));
  });
  return [...batches.values()];
};

type RenewItem = RenewRequest["items"][number];

export const renewBatches = (leases: readonly LeaseRef[]): GroupBatch<RenewItem>[] => {
  const batches: Collected<RenewItem & { readonly sequences: number[] }> = new Map();
  leases.forEach((lease, index) => {
    const { partition, token, sequence } = lease;
    collect(
      batches,
      lease,
      index,
      () => true,
      () => ({ partition, token, sequences: [sequence] }),
    );
  });
  return [...batches.values()];
};

export const toSettleAnswer = (result: SettleResult): SettleAnswer =>
  result.state === "stale" ? { status: "stale_lease", why: result.why } : { status: "settled", state: result.state };

export const toRenewal = (answer: RenewAnswer, part: number, position: number): Renewal => {
  const why = answer.stale[part]?.[position] ?? null;
  if (why !== null) return { status: "stale_lease", why };
  const kept = answer.kept?.find((found) => found.item === part && found.position === position);
  return { status: "renewed", expiresAt: new Date(kept?.expiresAtMs ?? answer.expiresAtMs) };
};
