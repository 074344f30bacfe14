/** Public settle and renew calls as batches for the port, and the answers back in the caller's order. */
import type { RenewAnswer, RenewRequest, Settlement, SettleOutcome, SettleResult } from "./backend.ts";
import { RheoError } from "./errors.ts";
import type { LeaseRef, Renewal, SettleAnswer } from "./lease.ts";
import { parseName } from "./names.ts";

/** Items of one group: where each came from, and what goes to the port. */
export interface GroupBatch<Part> {
  readonly stream: string;
  readonly group: string;
  readonly parts: { readonly part: Part; readonly indexes: number[] }[];
}

/** @throws invalid_option - not a lease */
export const parseLease = (lease: unknown, index: number): LeaseRef => {
  const fits =
    typeof lease === "object" &&
    lease !== null &&
    "partition" in lease &&
    Number.isSafeInteger(lease.partition) &&
    (lease.partition as number) >= 0 &&
    "sequence" in lease &&
    Number.isSafeInteger(lease.sequence) &&
    (lease.sequence as number) >= 1 &&
    "token" in lease &&
    Number.isSafeInteger(lease.token) &&
    (lease.token as number) >= 1 &&
    "stream" in lease &&
    "group" in lease;
  if (!fits) throw new RheoError("invalid_option", `Item ${index} is not a lease. Pass what fetch returned.`, { index });
  parseName("stream", lease.stream);
  parseName("group", lease.group);
  return lease as LeaseRef; // field by field above
};

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
