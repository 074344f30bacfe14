/** One group: how far each partition is, what holds it up, who holds what, and how it went of late. */
import type { GroupInfo, Lag, LeaseInfo, PartitionHolder, ResolvedGroupOptions } from "@rheo/core";
import type { Point } from "../sampling/history.ts";
import { type Delivery, deliveryOf } from "./delivery.ts";
import { type LeaseRun, leaseRuns } from "./lease-runs.ts";
import { type GroupState, stateOf } from "./overview.ts";
import type { Params } from "./params.ts";
import { consumersOf, type TreeNode } from "./tree.ts";
import type { Sources, View } from "./view.ts";

export interface PartitionRow {
  readonly partition: number;
  readonly firstSequence: number;
  readonly frontier: number;
  readonly highWatermark: number;
  readonly lag: number;
  readonly skipped: number;
  /** What holds the frontier; null without lag. */
  readonly holder: Delivery | null;
  readonly runs: readonly LeaseRun[];
}

export interface GroupView {
  readonly stream: string;
  readonly group: string;
  readonly state: GroupState;
  readonly createdAtMs: number;
  readonly options: ResolvedGroupOptions;
  readonly lag: number;
  readonly inflight: number;
  readonly retrying: number;
  readonly deadLetters: number;
  readonly oldestUnsettledAtMs: number | null;
  readonly members: readonly { readonly consumerId: string; readonly leases: number; readonly lastSeenAtMs: number }[];
  /** How many members there are; the list is bounded. */
  readonly memberCount: number;
  /** Lag of each partition, in order. */
  readonly lags: readonly number[];
  /** One page of partitions. */
  readonly partitions: readonly PartitionRow[];
  readonly page: number;
  readonly pages: number;
  /** There are more leases than were looked at, so that those of later partitions are not shown. */
  readonly areLeasesCut: boolean;
  readonly history: readonly Point[];
  /** Its consumers in this process, and the pools that work for them. */
  readonly consumers: readonly TreeNode[];
}

/** Partitions of one page. */
const PAGE = 24;
/** Leases that are looked at. */
const MOST_LEASES = 1_000;
/** Members that are listed. */
const MOST_MEMBERS = 200;
/** Leases and what holds frontiers cost a store more than all else here; countdowns run in the browser meanwhile. */
const EVERY_MS = 3_000;
/** Counts of the sampler's that are no older do, in ms. */
const FRESH_MS = 5_000;
const ORDERS = ["lag", "partition"] as const;

export const group: View = {
  everyMs: EVERY_MS,
  isHeavy: false,
  prepare: (params: Params, sources: Sources) => {
    const stream = params.required("stream");
    const name = params.required("group");
    const order = params.choice("order", ORDERS, "lag");
    const page = params.number("page", { min: 1, max: 1_000 }) ?? 1;
    return () => readGroup(sources, stream, name, { order, page });
  },
};

const readGroup = async (
  { rheo, sampler, app, clock }: Sources,
  stream: string,
  name: string,
  wanted: { readonly order: (typeof ORDERS)[number]; readonly page: number },
): Promise<GroupView> => {
  sampler.watch();
  const sample = sampler.group(stream, name);
  const isFresh = sample !== null && clock.now() - sample.countedAtMs < FRESH_MS;
  const lag = await rheo.lag(stream, name);
  const info = (isFresh ? sample.info : null) ?? (await rheo.groupInfo(stream, name));
  const holders = lag.lag === 0 ? [] : await rheo.explainLag(stream, name);
  const leases = await rheo.leases(stream, name, { limit: MOST_LEASES });
  const consumers = app === null ? [] : consumersOf(app, stream, name);
  return {
    ...figures({ ...info, lag: lag.lag }),
    ...partitionPage(lag, holders, leases, wanted),
    history: sample?.history.points ?? [],
    consumers,
  };
};

const figures = (
  info: GroupInfo,
): Omit<GroupView, "lags" | "partitions" | "page" | "pages" | "areLeasesCut" | "history" | "consumers"> => ({
  stream: info.stream,
  group: info.name,
  state: stateOf(info),
  createdAtMs: info.createdAt.getTime(),
  options: info.options,
  lag: info.lag,
  inflight: info.inflight,
  retrying: info.retrying,
  deadLetters: info.deadLetters,
  oldestUnsettledAtMs: info.oldestUnsettledAt?.getTime() ?? null,
  members: info.members
    .slice(0, MOST_MEMBERS)
    .map(({ consumerId, leases, lastSeenAt }) => ({ consumerId, leases, lastSeenAtMs: lastSeenAt.getTime() })),
  memberCount: info.members.length,
});

const partitionPage = (
  { partitions }: Lag,
  holders: readonly PartitionHolder[],
  leases: readonly LeaseInfo[],
  { order, page: asked }: { readonly order: (typeof ORDERS)[number]; readonly page: number },
): Pick<GroupView, "lags" | "partitions" | "page" | "pages" | "areLeasesCut"> => {
  const pages = Math.ceil(partitions.length / PAGE);
  const page = Math.min(asked, pages);
  const sorted = order === "partition" ? partitions : [...partitions].sort((a, b) => b.lag - a.lag || a.partition - b.partition);
  const shown = sorted.slice((page - 1) * PAGE, page * PAGE);
  const holderOf = new Map(holders.map((holder) => [holder.partition, deliveryOf(holder)]));
  const runs = leaseRuns(leases);
  return {
    lags: partitions.map(({ lag }) => lag),
    partitions: shown.map((part) => ({
      ...part,
      holder: holderOf.get(part.partition) ?? null,
      runs: runs.filter(({ partition }) => partition === part.partition),
    })),
    page,
    pages,
    areLeasesCut: leases.length === MOST_LEASES,
  };
};
