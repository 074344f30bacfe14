import type { Metric } from "./metric.ts";

export type CounterName =
  | "appended"
  | "duplicates"
  | "trimmed"
  | "archived"
  | "leased"
  | "redelivered"
  | "settled"
  | "renewed"
  | "stale"
  | "lost"
  | "deadLettered"
  | "purged"
  | "reopened"
  | "handlerFailures"
  | "handlerTimeouts"
  | "storeFailures"
  | "breakerOpened"
  | "partitionMoves"
  | "threadsStarted"
  | "threadDeaths"
  | "charged"
  | "redispatched"
  | "childFailures"
  | "restarts"
  | "escalations"
  | "readFailures";

type Row = Omit<Metric, "kind">;
const counter = (row: Row): Metric => ({ kind: "counter", ...row });
const ofDeliveries = (prometheus: string, otel: string, help: string, more: Metric["labels"] = []): Metric =>
  counter({ prometheus, otel, unit: "{delivery}", labels: ["stream", "group", ...more], help });
const ofChildren = (prometheus: string, otel: string, help: string): Metric =>
  counter({ prometheus, otel, unit: "{child}", labels: ["kind", "stream", "group"], help });

/** What has happened in this process, since it began to look. */
export const COUNTERS: Readonly<Record<CounterName, Metric>> = {
  appended: counter({
    prometheus: "rheo_events_appended_total",
    otel: "messaging.client.sent.messages",
    unit: "{message}",
    labels: ["stream"],
    help: "Events appended; duplicates are not among them.",
  }),
  duplicates: counter({
    prometheus: "rheo_events_duplicate_total",
    otel: "rheo.events.duplicate",
    unit: "{event}",
    labels: ["stream"],
    help: "Appends that found their id in the stream already and wrote nothing.",
  }),
  trimmed: counter({
    prometheus: "rheo_events_trimmed_total",
    otel: "rheo.events.trimmed",
    unit: "{event}",
    labels: ["stream"],
    help: "Events removed by trimming.",
  }),
  archived: counter({
    prometheus: "rheo_events_archived_total",
    otel: "rheo.events.archived",
    unit: "{event}",
    labels: ["stream"],
    help: "Events that a retention gave to its archive.",
  }),
  leased: ofDeliveries("rheo_deliveries_leased_total", "messaging.client.consumed.messages", "Deliveries leased, each attempt."),
  redelivered: ofDeliveries(
    "rheo_deliveries_redelivered_total",
    "rheo.deliveries.redelivered",
    "Deliveries leased for a second or later attempt.",
  ),
  settled: ofDeliveries(
    "rheo_deliveries_settled_total",
    "rheo.deliveries.settled",
    "Leases settled, by what became of the delivery: acked, retrying, dead or released.",
    ["state"],
  ),
  renewed: ofDeliveries("rheo_leases_renewed_total", "rheo.leases.renewed", "Leases renewed."),
  stale: ofDeliveries(
    "rheo_leases_stale_total",
    "rheo.leases.stale",
    "Settles and renewals refused: reclaimed, settled, reset or gone.",
    ["why"],
  ),
  lost: ofDeliveries(
    "rheo_leases_lost_total",
    "rheo.leases.lost",
    "Leases lost while a handler ran: as for stale leases, or expired.",
    ["why"],
  ),
  deadLettered: ofDeliveries(
    "rheo_dead_letters_created_total",
    "rheo.dead_letters.created",
    "Dead letters created: rejected, out of attempts, or expired for the last time.",
  ),
  purged: ofDeliveries("rheo_dead_letters_purged_total", "rheo.dead_letters.purged", "Dead letters purged."),
  reopened: ofDeliveries(
    "rheo_deliveries_reopened_total",
    "rheo.deliveries.reopened",
    "Deliveries opened again, by replay, reset or redrive.",
    ["by"],
  ),
  handlerFailures: ofDeliveries(
    "rheo_handler_failures_total",
    "rheo.handler.failures",
    "Deliveries whose handler ended in retry or reject; a crash of its thread is a retry.",
    ["outcome"],
  ),
  handlerTimeouts: ofDeliveries(
    "rheo_handler_timeouts_total",
    "rheo.handler.timeouts",
    "Deliveries whose handler ran out of its time.",
  ),
  storeFailures: counter({
    prometheus: "rheo_store_failures_total",
    otel: "rheo.store.failures",
    unit: "{call}",
    labels: ["stream", "group", "call", "code"],
    help: "Calls to the store that failed and are repeated: fetch, settle, renew, assign or sweep, by error code.",
  }),
  breakerOpened: counter({
    prometheus: "rheo_breaker_opened_total",
    otel: "rheo.breaker.opened",
    unit: "{opening}",
    labels: ["stream", "group"],
    help: "Times that everything failed in a row, so that work stopped for a while.",
  }),
  partitionMoves: counter({
    prometheus: "rheo_partition_moves_total",
    otel: "rheo.partition.moves",
    unit: "{partition}",
    labels: ["stream", "group", "why"],
    help: "Partitions that a member was assigned, released or lost.",
  }),
  threadsStarted: counter({
    prometheus: "rheo_threads_started_total",
    otel: "rheo.thread.started",
    unit: "{thread}",
    labels: [],
    help: "Worker threads started; the first of all are those in which handler modules are tried out.",
  }),
  threadDeaths: counter({
    prometheus: "rheo_thread_deaths_total",
    otel: "rheo.thread.deaths",
    unit: "{thread}",
    labels: ["why"],
    help: "Worker threads that died: exit, error, memory, timeout, lost (its lease) or stopped.",
  }),
  charged: counter({
    prometheus: "rheo_deliveries_charged_total",
    otel: "rheo.deliveries.charged",
    unit: "{delivery}",
    labels: [],
    help: "Deliveries charged with an attempt because their thread died.",
  }),
  redispatched: counter({
    prometheus: "rheo_deliveries_redispatched_total",
    otel: "rheo.deliveries.redispatched",
    unit: "{delivery}",
    labels: [],
    help: "Deliveries started again, uncharged, because their thread died.",
  }),
  childFailures: ofChildren(
    "rheo_supervisor_failures_total",
    "rheo.supervisor.failures",
    "Children of the supervisor that failed: the pool of threads, a consumer (kind group), or a retention.",
  ),
  restarts: ofChildren("rheo_supervisor_restarts_total", "rheo.supervisor.restarts", "Restarts of children of the supervisor."),
  escalations: ofChildren(
    "rheo_supervisor_escalations_total",
    "rheo.supervisor.escalations",
    "Children that failed too often and were given up.",
  ),
  readFailures: counter({
    prometheus: "rheo_telemetry_read_failures_total",
    otel: "rheo.telemetry.read_failures",
    unit: "{group}",
    labels: [],
    help: "Groups whose gauges could not be read from the store.",
  }),
};
