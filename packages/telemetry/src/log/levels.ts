import type { RheoEventType } from "@rheo/core";

/** From the most talkative to the most serious. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** Deliveries one by one are no matter for a log. */
type Untold = "delivery.leased" | "delivery.settled" | "delivery.handled";

/** How much each type of event matters: `trace` is for what happens with every batch, `warn` for what somebody should look into if it goes on, `error` for what will not heal by itself. */
export const LEVELS: Readonly<Record<Exclude<RheoEventType, Untold>, LogLevel>> = {
  "event.appended": "trace",
  "lease.granted": "trace",
  "lease.settled": "trace",
  "lease.renewed": "trace",
  "breaker.half_opened": "debug",
  "partition.assigned": "debug",
  "partition.released": "debug",
  "retention.elected": "debug",
  "retention.swept": "debug",
  "thread.started": "debug",
  "child.started": "debug",
  "child.stopped": "debug",
  "lease.stale": "debug",
  "stream.created": "info",
  "stream.deleted": "info",
  "stream.trimmed": "info",
  "group.created": "info",
  "group.updated": "info",
  "group.deleted": "info",
  "group.paused": "info",
  "group.resumed": "info",
  "group.reset": "info",
  "group.replayed": "info",
  "dead_letter.redriven": "info",
  "dead_letter.purged": "info",
  "consumer.started": "info",
  "consumer.paused": "info",
  "consumer.resumed": "info",
  "consumer.draining": "info",
  "consumer.stopped": "info",
  "breaker.closed": "info",
  "lease.lost": "warn",
  "fetch.failed": "warn",
  "settle.failed": "warn",
  "renew.failed": "warn",
  "assignment.failed": "warn",
  "retention.failed": "warn",
  "retention.deposed": "warn",
  "handler.failed": "warn",
  "handler.timed_out": "warn",
  "breaker.opened": "warn",
  "partition.lost": "warn",
  "thread.died": "warn",
  "child.failed": "warn",
  "child.restarting": "warn",
  "dead_letter.created": "error",
  "supervisor.escalated": "error",
};
