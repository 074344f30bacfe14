/** A planted fault: a backend that breaks one promise. The contract suite must notice every one of them. */
import type { Backend, ExchangeAnswer, ExchangeRequest, SettledState, SettleResult } from "@rheo/core";
import { overlay } from "../overlay.ts";

export interface Mutant {
  /** In kebab-case. */
  readonly name: string;
  /** What goes wrong, in one sentence. */
  readonly fault: string;
  /** A backend with the fault, around one without. */
  mutate(inner: Backend): Backend;
}

/** A mutant that changes some methods of the port. */
export const mutant = (name: string, fault: string, changes: (inner: Backend) => Partial<Backend>): Mutant => ({
  name,
  fault,
  mutate: (inner) => overlay(inner, changes(inner)),
});

/** A mutant of `exchange` alone. */
export const exchangeMutant = (
  name: string,
  fault: string,
  exchange: (inner: Backend, request: ExchangeRequest) => Promise<ExchangeAnswer>,
): Mutant => mutant(name, fault, (inner) => ({ exchange: (request) => exchange(inner, request) }));

/** Replaces each result of an exchange. */
export const mapResults = (
  request: ExchangeRequest,
  answer: ExchangeAnswer,
  change: (result: SettleResult, part: number, position: number) => SettleResult,
): ExchangeAnswer => ({
  ...answer,
  settled: request.settlements.map((_, part) =>
    (answer.settled[part] ?? []).map((result, position) => change(result, part, position)),
  ),
});

export const as = (state: SettledState): SettleResult => ({ state });

/** Names one delivery of one group. */
export const place = (
  request: { readonly stream: string; readonly group: string },
  partition: number,
  sequence: number,
): string => `${request.stream}/${request.group}/${partition}/${sequence}`;

export const counted = (counts: Map<string, number>, name: string, step = 1): number => {
  const count = (counts.get(name) ?? 0) + step;
  counts.set(name, count);
  return count;
};
