import type { Metric } from "./metric.ts";

export type HistogramName = "handlerTime" | "startLatency" | "ackLatency";

/** In seconds. Handlers take from next to nothing to a minute and more; waiting lasts longer, an hour behind a backlog. */
const HANDLER_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600] as const;

/** Times. Each delivery counts once; those of one batch handler's call count with the time of that call. */
export const HISTOGRAMS: Readonly<Record<HistogramName, Metric>> = {
  handlerTime: {
    kind: "histogram",
    prometheus: "rheo_handler_duration_seconds",
    otel: "messaging.process.duration",
    unit: "s",
    labels: ["stream", "group", "outcome"],
    help: "Time that handlers took, by outcome: ack, retry, reject or release.",
    buckets: HANDLER_BUCKETS,
  },
  startLatency: {
    kind: "histogram",
    prometheus: "rheo_delivery_start_latency_seconds",
    otel: "rheo.delivery.start_latency",
    unit: "s",
    labels: ["stream", "group"],
    help: "From an event's timestamp to the start of its handler, for first attempts.",
    buckets: LATENCY_BUCKETS,
  },
  ackLatency: {
    kind: "histogram",
    prometheus: "rheo_delivery_ack_latency_seconds",
    otel: "rheo.delivery.ack_latency",
    unit: "s",
    labels: ["stream", "group"],
    help: "From an event's timestamp until its ack was confirmed, retries and all.",
    buckets: LATENCY_BUCKETS,
  },
};
