/** Renewal: its arguments and its answer. */
import type { RenewAnswer, RenewRequest, StaleReason } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { runsOf, spread } from "./positions.ts";
import { DELIVERIES } from "./program.ts";
import type { Part, Shards } from "./shards.ts";

const WHY: ReadonlyMap<string, StaleReason | null> = new Map<string, StaleReason | null>([
  ["k", null],
  ["R", "reclaimed"],
  ["S", "settled"],
  ["X", "reset"],
  ["G", "gone"],
]);

/** `gone` for everything where the stream or group is not there. */
export const renew = async (shards: Shards, request: RenewRequest): Promise<RenewAnswer> => {
  try {
    if (shards.isCluster) return await renewOnCluster(shards, request);
    const { expiresAtMs, stale, kept = [] } = await renewAt(shards, request, null);
    return { expiresAtMs, stale, kept };
  } catch (error) {
    if (RheoError.is(error, "stream_not_found")) return allGone(request);
    throw error;
  }
};

/** In one call: all partitions of a single server, or one of a Cluster. */
const renewAt = async (shards: Shards, request: RenewRequest, partition: number | null): Promise<Renewed> => {
  const { stream, group, leaseMs, consumerId, items } = request;
  const lists = partition === null ? null : [[partition]];
  const [part] = await shards.each(DELIVERIES.renew, stream, group, lists, (partitions) => [
    leaseMs ?? "",
    consumerId,
    items.length,
    ...items.flatMap((item) => {
      const place = partitions.indexOf(item.partition);
      return [place === -1 ? partitions.length : place, item.token, runsOf(item.sequences)];
    }),
  ]);
  return part === undefined || part.answer[0] !== "ok" ? { ...allGone(request), revived: [] } : toRenewed(request, part);
};

/** Each partition in a call of its own. What is answered as the expiry of all is the earliest. */
const renewOnCluster = async (shards: Shards, request: RenewRequest): Promise<RenewAnswer> => {
  const { stream, group, items } = request;
  const { partitions: count } = await shards.streams.find(stream);
  const asked = [...new Set(items.map(({ partition }) => partition))].filter((partition) => partition < count);
  const partitions = asked.length === 0 ? [0] : asked;
  const answers = await Promise.all(
    partitions.map((partition) => {
      const mine = items.filter((item) => item.partition === partition);
      return renewAt(shards, { ...request, items: mine }, partition);
    }),
  );
  const revived = [...new Set(answers.flatMap((answer) => answer.revived))];
  const everywhere = Array.from({ length: count }, (_, partition) => [partition]);
  await Promise.all(
    revived.map((consumerId) => shards.each(DELIVERIES.clearAlone, stream, group, everywhere, () => [consumerId, 2])),
  );
  const expiries = answers.flatMap(({ expiresAtMs }) => (expiresAtMs > 0 ? [expiresAtMs] : []));
  return merge(request, partitions, answers, expiries.length === 0 ? 0 : Math.min(...expiries));
};

const merge = (
  { items }: RenewRequest,
  partitions: readonly number[],
  answers: readonly Renewed[],
  expiresAtMs: number,
): RenewAnswer => {
  const next = new Map<number, number>();
  const stale: (readonly (StaleReason | null)[])[] = [];
  const kept: NonNullable<RenewAnswer["kept"]>[number][] = [];
  for (const [item, { partition, sequences }] of items.entries()) {
    const answer = answers[partitions.indexOf(partition)];
    const at = next.get(partition) ?? 0;
    next.set(partition, at + 1);
    const whys = answer?.stale[at] ?? sequences.map(() => "gone" as const);
    stale.push(whys);
    for (const [position, why] of whys.entries()) {
      const found = answer?.kept?.find((one) => one.item === at && one.position === position);
      const expires = found?.expiresAtMs ?? answer?.expiresAtMs ?? 0;
      if (why === null && expires !== expiresAtMs) kept.push({ item, position, expiresAtMs: expires });
    }
  }
  return { expiresAtMs, stale, kept };
};

const allGone = ({ items }: RenewRequest): RenewAnswer => ({
  expiresAtMs: 0,
  stale: items.map(({ sequences }) => sequences.map(() => "gone")),
});

/** See `renew.lua.ts`. */
type Answer = readonly [
  state: string,
  expires: number,
  answers: readonly string[],
  kept: readonly string[],
  revived: readonly string[],
];

interface Renewed extends RenewAnswer {
  /** Members whose leases had run out, and are live again. */
  readonly revived: readonly string[];
}

const toRenewed = ({ items }: RenewRequest, { answer }: Part): Renewed => {
  const [, expiresAtMs, answers, kept, revived] = answer as unknown as Answer; // our own script wrote it
  return {
    revived,
    expiresAtMs,
    stale: items.map(({ sequences }, index) => spread(answers[index] ?? "G", sequences, toWhy)),
    kept: kept.flatMap((text) => toKept(items, text)),
  };
};

const toWhy = (code: string): StaleReason | null => {
  const why = WHY.get(code);
  return why === undefined ? "gone" : why;
};

/** `item runs expiry`. */
const toKept = (items: RenewRequest["items"], text: string): NonNullable<RenewAnswer["kept"]>[number][] => {
  const [item = "", runs = "", expires = ""] = text.split(" ");
  const { sequences = [] } = items[Number(item)] ?? {};
  return positionsIn(sequences, runs).map((position) => ({ item: Number(item), position, expiresAtMs: Number(expires) }));
};

const positionsIn = (sequences: readonly number[], runs: string): number[] => {
  const bounds = runs.split(",").map((run) => run.split("-").map(Number));
  return sequences.flatMap((sequence, position) =>
    bounds.some(([first = 0, last = 0]) => sequence >= first && sequence <= last) ? [position] : [],
  );
};
