import type { RenewAnswer, RenewRequest, StaleReason } from "@rheo/core";
import type { Answer } from "./answers.ts";
import type { Statement, Value } from "./database.ts";
import { multirange, type Run, spread } from "./positions.ts";

export const RENEW: Statement = {
  text: "SELECT @.renew($1, $2, $3::jsonb, $4, $5::bigint, $6::bigint)",
  writes: true,
  often: true,
};

interface RenewResult extends Answer {
  readonly expiresAt: number;
  readonly stale: readonly (readonly Run[])[];
  readonly kept: readonly (readonly [item: number, from: number, until: number, expiresAtMs: number])[];
}

export const renewValues = ({ stream, group, items, consumerId, leaseMs }: RenewRequest, nowMs: number | null): Value[] => [
  stream,
  group,
  JSON.stringify(items.map(({ partition, token, sequences }) => ({ p: partition, t: token, s: multirange(sequences) }))),
  consumerId,
  leaseMs,
  nowMs,
];

const WHY: ReadonlyMap<string, StaleReason | null> = new Map<string, StaleReason | null>([
  ["k", null],
  ["R", "reclaimed"],
  ["S", "settled"],
  ["X", "reset"],
  ["G", "gone"],
]);

/** `gone` for everything where the stream or group is not there. */
export const toRenewAnswer = ({ items }: RenewRequest, answer: Record<string, unknown>): RenewAnswer => {
  const { missing, expiresAt, stale, kept } = answer as unknown as RenewResult; // our own function wrote it
  if (missing !== undefined) return { expiresAtMs: 0, stale: items.map(({ sequences }) => sequences.map(() => "gone")) };
  return {
    expiresAtMs: expiresAt,
    stale: items.map(({ sequences }, index) => spread(stale[index] ?? [], sequences, toWhy)),
    kept: kept.flatMap(([item, from, until, expiresAtMs]) =>
      (items[item]?.sequences ?? []).flatMap((sequence, position) =>
        sequence >= from && sequence < until ? [{ item, position, expiresAtMs }] : [],
      ),
    ),
  };
};

const toWhy = (code: string): StaleReason | null => {
  const why = WHY.get(code);
  return why === undefined ? "gone" : why;
};
