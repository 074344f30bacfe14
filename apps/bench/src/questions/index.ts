/** Everything that can be asked. */
import type { Question } from "../question.ts";
import { appends } from "./append.ts";
import { bursts } from "./bursts.ts";
import { crowds } from "./crowds.ts";
import { drains } from "./drain.ts";
import { fetchSettle } from "./fetch-settle.ts";
import { hardships } from "./hardships.ts";
import { histories } from "./history.ts";
import { idles } from "./idle.ts";
import { latency } from "./latency.ts";
import { latencyLoaded } from "./latency-loaded.ts";
import { bareInserts } from "./limits/bare-insert.ts";
import { bareReads } from "./limits/bare-read.ts";
import { parsings } from "./limits/parsing.ts";
import { memoryUse } from "./memory-use.ts";
import { nodeVersions } from "./nodes.ts";
import { pipelineFlow } from "./pipeline.ts";
import { recovery } from "./recovery.ts";
import { runtimeDispatch } from "./runtime-dispatch.ts";
import { runtimeRebalance } from "./runtime-rebalance.ts";
import { runtimeRenewal } from "./runtime-renewal.ts";
import { partitionedTables } from "./scale-out/partitioned-table.ts";
import { readReplicas } from "./scale-out/read-replica.ts";
import { redisClusters } from "./scale-out/redis-cluster.ts";
import { searching } from "./searching.ts";
import { startup } from "./startup.ts";
import { storeCosts } from "./store-cost.ts";
import { threadDeath } from "./thread-death.ts";

export const QUESTIONS: readonly Question[] = [
  ...parsings,
  ...bareInserts,
  ...appends,
  ...bareReads,
  fetchSettle,
  ...drains,
  nodeVersions,
  ...hardships,
  ...histories,
  bursts,
  latency,
  latencyLoaded,
  ...crowds,
  ...redisClusters,
  ...partitionedTables,
  ...readReplicas,
  threadDeath,
  recovery,
  startup,
  ...idles,
  memoryUse,
  ...storeCosts,
  pipelineFlow,
  searching,
];

/** Asked with the argument "runtime" only, by default on the store in memory, where the runtime is most of what is measured. */
export const RUNTIME_QUESTIONS: readonly Question[] = [runtimeDispatch, threadDeath, runtimeRenewal, runtimeRebalance];
