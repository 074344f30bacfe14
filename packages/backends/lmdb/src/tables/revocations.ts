/** Why positions of a lease were taken away. At most REVOCATIONS_KEPT per group and partition. */
import type { Revocation } from "@rheo/core/internal";
import { endOf } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";
import { fromText, toText } from "./bitmaps.ts";
import { KIND, kindKey, type Part, tokenKey } from "./progress-keys.ts";

type Row = readonly [token: number, first: number, last: number, closed: string | null, why: Revocation["why"]];

/** By token. */
export const readRevocations = (environment: Environment, part: Part): Revocation[] => {
  const start = kindKey(part, KIND.revocation);
  const found: Revocation[] = [];
  for (const { value } of environment.entries({ start, end: endOf(start) })) {
    const [token, first, last, closed, why] = JSON.parse(textOf(value)) as Row; // written by putRevocation only
    found.push({ token, first, last, closed: fromText(closed), why });
  }
  return found;
};

export const putRevocation = (environment: Environment, part: Part, revocation: Revocation): void => {
  const { token, first, last, closed, why } = revocation;
  const row: Row = [token, first, last, toText(closed), why];
  environment.putText(tokenKey(part, KIND.revocation, token, first), JSON.stringify(row));
};

export const deleteRevocation = (environment: Environment, part: Part, { token, first }: Revocation): void =>
  environment.remove(tokenKey(part, KIND.revocation, token, first));
