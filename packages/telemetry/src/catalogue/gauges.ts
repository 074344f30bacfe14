import type { Metric } from "./metric.ts";

export type GaugeName =
  | "lag"
  | "inflight"
  | "retrying"
  | "deadLetters"
  | "oldestAge"
  | "members"
  | "paused"
  | "storeUp"
  | "leftOut"
  | "consumers"
  | "held"
  | "slots"
  | "breakerOpen"
  | "threads"
  | "utilization"
  | "heldBack";

const gauge = (prometheus: string, unit: string, labels: Metric["labels"], help: string): Metric => ({
  kind: "gauge",
  prometheus,
  otel: prometheus
    .replace(/_(seconds|ratio)$/, "")
    .replace("_", ".")
    .replace(/^(rheo\.[a-z]+)_/, "$1."),
  unit,
  labels,
  help,
});
const IN_GROUP = ["stream", "group"] as const;

/** How things stand. What is said of a group is what the store says, the same in every process; the rest is of this process alone. */
export const GAUGES: Readonly<Record<GaugeName, Metric>> = {
  lag: gauge(
    "rheo_group_lag",
    "{event}",
    IN_GROUP,
    "Events from the frontier to the high watermark; 0 when all is acked or dead.",
  ),
  inflight: gauge("rheo_group_inflight", "{lease}", IN_GROUP, "Unexpired leases, over all members."),
  retrying: gauge("rheo_group_retrying", "{delivery}", IN_GROUP, "Deliveries that wait for another attempt."),
  deadLetters: gauge("rheo_group_dead_letters", "{delivery}", IN_GROUP, "Dead letters kept."),
  oldestAge: gauge(
    "rheo_group_oldest_age_seconds",
    "s",
    IN_GROUP,
    "Age of the oldest event that is not settled, by its timestamp and this host's clock; 0 when there is none.",
  ),
  members: gauge("rheo_group_members", "{member}", IN_GROUP, "Members that the store knows of."),
  paused: gauge("rheo_group_paused", "1", IN_GROUP, "1 while the group is paused."),
  storeUp: gauge("rheo_store_up", "1", [], "1 when the last reading of the gauges was answered by the store, else 0."),
  leftOut: gauge(
    "rheo_telemetry_groups_left_out",
    "{group}",
    [],
    "Groups without gauges of their own, since there are more than maxGroups.",
  ),
  consumers: gauge("rheo_consumers", "{consumer}", [...IN_GROUP, "state"], "Consumers of this process, by state."),
  held: gauge(
    "rheo_consumer_leases",
    "{lease}",
    [...IN_GROUP, "state"],
    "Leases that consumers of this process hold: unstarted, running or unsettled.",
  ),
  slots: gauge("rheo_consumer_slots", "{handler}", IN_GROUP, "Handlers that may run at once in this process."),
  breakerOpen: gauge(
    "rheo_breaker_open",
    "1",
    IN_GROUP,
    "1 while the breaker keeps consumers of this process from starting work.",
  ),
  threads: gauge("rheo_threads", "{thread}", ["state"], "Worker threads of this process: busy or free."),
  utilization: gauge(
    "rheo_thread_utilization_ratio",
    "1",
    [],
    "Share of the time in which the event loops of the worker threads were busy, 0 to 1, as a mean over the threads.",
  ),
  heldBack: gauge(
    "rheo_retention_held_back",
    "{event}",
    ["stream"],
    "Events due to go that some group has not settled, by the last sweep; told by the member that sweeps.",
  ),
};
