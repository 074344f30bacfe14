/**
 * What must hold of one delivery, whatever was killed: judged from outside, by what its members asked and were answered. What is
 * unknown because an answer never came is never held against anybody, so that each finding is a fault of the store or the runtime.
 */
import type { Delivery, Granted, Settled, Span } from "./history.ts";

/** Of the store's clock against the wall clock of the host, and of rounding to ms. */
const CLOCK_SLACK_MS = 3;

/** @param unknownFetches - of its group: what they granted nobody knows */
export const checkDelivery = (delivery: Delivery, maxAttempts: number, unknownFetches: readonly Span[]): string[] => {
  const granted = [...delivery.granted].sort((a, b) => a.token - b.token);
  const place = `${delivery.group} ${delivery.partition}@${delivery.sequence}`;
  return [
    ...checkGrants(delivery, granted, maxAttempts),
    ...checkSettles(delivery, granted, unknownFetches),
    ...checkRenewals(delivery, granted, unknownFetches),
  ].map((fault) => `${place}: ${fault}`);
};

/** The settle that finished it: the one whose answer says so, else the first whose answer never came. */
export const finishOf = ({ settled }: Delivery): Settled | undefined =>
  settled.find(({ result }) => isFinal(result)) ??
  settled
    .filter(({ outcome, result }) => result === "unknown" && (outcome === "ack" || outcome === "reject"))
    .sort((a, b) => a.from - b.from)[0];

const isFinal = (result: Settled["result"]): boolean => result === "acked" || result === "dead";
const isAccepted = (result: Settled["result"]): boolean => result !== "unknown" && !result.startsWith("stale:");

/** F1 G2 T3 T4: tokens rise, no two leases at once, no lease before its delay, none after the end. */
const checkGrants = (delivery: Delivery, granted: readonly Granted[], maxAttempts: number): string[] => {
  const faults: string[] = [];
  granted.forEach((grant, at) => {
    if (grant.attempt < 1 || grant.attempt > maxAttempts) faults.push(`started as attempt ${grant.attempt}`);
    const before = granted[at - 1];
    if (before !== undefined) faults.push(...checkSuccession(delivery, before, grant));
  });
  return faults;
};

const checkSuccession = (delivery: Delivery, before: Granted, grant: Granted): string[] => {
  const faults: string[] = [];
  const under = delivery.settled.filter(({ token }) => token === before.token);
  if (grant.token === before.token) faults.push(`leased twice under token ${grant.token}`);
  if (grant.to < before.from) faults.push(`token ${grant.token} was granted before token ${before.token}`);
  if (under.some(({ result }) => isFinal(result)))
    faults.push(`finished under ${before.token} and leased again under ${grant.token}`);
  const wasLetGo = under.some(({ result }) => isAccepted(result) || result === "unknown");
  const expiresAtMs = expiryOf(delivery, before);
  if (!wasLetGo && expiresAtMs > grant.leasedAtMs + CLOCK_SLACK_MS)
    faults.push(`leased under ${grant.token} at ${grant.leasedAtMs}, while ${before.token} was live until ${expiresAtMs}`);
  const retry = under.find(({ result }) => result === "retrying");
  if (retry !== undefined && grant.leasedAtMs + CLOCK_SLACK_MS < retry.wallMs + retry.delayMs)
    faults.push(`leased under ${grant.token} before the delay of ${retry.delayMs} ms was over`);
  return faults;
};

/** With every renewal that is known to have been accepted. */
const expiryOf = ({ renewed }: Delivery, { token, expiresAtMs }: Granted): number =>
  Math.max(expiresAtMs, ...renewed.flatMap((one) => (one.token === token && typeof one.result === "number" ? [one.result] : [])));

/** F2 F3 F4: a settle is accepted exactly under the current token, and once. */
const checkSettles = (delivery: Delivery, granted: readonly Granted[], unknownFetches: readonly Span[]): string[] => {
  const faults: string[] = [];
  const finals = delivery.settled.filter(({ result }) => isFinal(result));
  if (finals.length > 1) faults.push(`finished ${finals.length} times`);
  for (const settle of delivery.settled) {
    const { token, result } = settle;
    if (!granted.some((grant) => grant.token === token)) faults.push(`settled under token ${token}, which nobody was granted`);
    const later = granted.filter((grant) => grant.token > token);
    if (isAccepted(result) && later.some((grant) => grant.to < settle.from))
      faults.push(`a stale settle under ${token} was accepted (${result})`);
    if (result.startsWith("stale:") && !isJustified(delivery, settle, result.slice(6), later, unknownFetches))
      faults.push(`a settle under ${token} was refused as ${result.slice(6)}, though nothing says so`);
    if (isFinal(result) && !delivery.handledTokens.includes(token))
      faults.push(`${result} under ${token} without having been handled`);
  }
  return faults;
};

/** F2 F5: a renewal is accepted exactly under the current token. */
const checkRenewals = (delivery: Delivery, granted: readonly Granted[], unknownFetches: readonly Span[]): string[] => {
  const faults: string[] = [];
  for (const renewal of delivery.renewed) {
    const { token, result } = renewal;
    const later = granted.filter((grant) => grant.token > token);
    if (typeof result === "number") {
      if (later.some((grant) => grant.to < renewal.from)) faults.push(`a stale renewal under ${token} was accepted`);
    } else if (!isJustified(delivery, renewal, result, later, unknownFetches))
      faults.push(`a renewal under ${token} was refused as ${result}, though nothing says so`);
  }
  return faults;
};

/** Whether something that may have happened before explains a refusal. Nothing is reset, replayed or deleted in a soak. */
const isJustified = (
  delivery: Delivery,
  asked: Span & { readonly token: number },
  why: string,
  later: readonly Granted[],
  unknownFetches: readonly Span[],
): boolean => {
  if (why === "reclaimed")
    return later.some(({ from }) => from < asked.to) || unknownFetches.some(({ from }) => from < asked.to) || delivery.died > 0;
  if (why !== "settled") return false;
  return delivery.settled.some(
    (other) =>
      other !== asked &&
      other.token === asked.token &&
      other.from < asked.to &&
      (isAccepted(other.result) || other.result === "unknown"),
  );
};
