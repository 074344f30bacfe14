/** Range leases: a group has one per batch in flight. */
import type { RangeLease } from "@rheo/core/internal";
import { endOf } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";
import { fromText, toText } from "./bitmaps.ts";
import { KIND, kindKey, type Part, tokenKey } from "./progress-keys.ts";

type Row = readonly [
  token: number,
  first: number,
  last: number,
  closed: string | null,
  open: number,
  attempt: number,
  takeovers: number,
  alone: RangeLease["alone"],
  consumerId: string,
  leasedAtMs: number,
  expiresAtMs: number,
  firstFailedAtMs: number | null,
];

export const readLeases = (environment: Environment, part: Part): RangeLease[] => {
  const start = kindKey(part, KIND.lease);
  const found: RangeLease[] = [];
  for (const { value } of environment.entries({ start, end: endOf(start) })) found.push(toLease(textOf(value)));
  return found;
};

const toLease = (text: string): RangeLease => {
  const [token, first, last, closed, open, attempt, takeovers, alone, consumerId, leasedAtMs, expiresAtMs, firstFailedAtMs] =
    JSON.parse(text) as Row; // written by putLease only
  return {
    token,
    first,
    last,
    closed: fromText(closed),
    open,
    attempt,
    takeovers,
    alone,
    consumerId,
    leasedAtMs,
    expiresAtMs,
    firstFailedAtMs,
  };
};

export const putLease = (environment: Environment, part: Part, lease: RangeLease): void => {
  const row: Row = [
    lease.token,
    lease.first,
    lease.last,
    toText(lease.closed),
    lease.open,
    lease.attempt,
    lease.takeovers,
    lease.alone,
    lease.consumerId,
    lease.leasedAtMs,
    lease.expiresAtMs,
    lease.firstFailedAtMs,
  ];
  environment.putText(tokenKey(part, KIND.lease, lease.token, lease.first), JSON.stringify(row));
};

export const deleteLease = (environment: Environment, part: Part, token: number, first: number): void =>
  environment.remove(tokenKey(part, KIND.lease, token, first));
