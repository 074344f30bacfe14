/** Metrics of `rheo.events` and of groups as text for Prometheus, by `prom-client`. */
export type { Closable } from "../closable.ts";
export type { Supervised } from "../gauges/app-readings.ts";
export type { WatchOptions } from "../options.ts";
export { type PrometheusMetrics, type PrometheusOptions, prometheus } from "./prometheus.ts";
