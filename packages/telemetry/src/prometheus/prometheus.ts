import { RheoError } from "@rheo/core";
import { parseOptions } from "@rheo/core/internal";
import { type OpenMetricsContentType, Registry } from "prom-client";
import { type Closable, closable } from "../closable.ts";
import type { Supervised } from "../gauges/app-readings.ts";
import { parseWatch, WATCH_NAMES, type WatchOptions } from "../options.ts";
import { watchInstance } from "../watching.ts";
import { register } from "./scraped.ts";
import { Totals } from "./totals.ts";

/** It may speak the older text format or OpenMetrics. */
type AnyRegistry = Registry | Registry<OpenMetricsContentType>;

export interface PrometheusOptions extends WatchOptions {
  /** Where the metrics are added, beside yours; default a registry of their own. A registry takes one instance. */
  readonly registry?: AnyRegistry;
}

/** Metrics of one instance, to be scraped. */
export interface PrometheusMetrics extends Closable {
  /** Its `contentType` is that of {@link text}. */
  readonly registry: AnyRegistry;
  /** Adds gauges of the consumers and threads of a supervisor of this process, until it has stopped. */
  readonly watch: (app: Supervised) => void;
  /** The registry as text. */
  readonly text: () => Promise<string>;
  /** Answers a GET or HEAD, as the Fetch API has it; anything else is 405. The path is not looked at. */
  readonly handler: (request: Request) => Promise<Response>;
}

/**
 * Counts what an instance tells, for Prometheus to scrape. The store is read when a scrape asks, and not more often than `gaugesEveryMs`; one
 * that is away costs a scrape at most five seconds, and shows as `rheo_store_up 0`. `close` takes the metrics out of the registry.
 * @throws invalid_option, invalid_name - see the options
 */
export const prometheus = (options: PrometheusOptions): PrometheusMetrics => {
  const raw = parseOptions("prometheus", options, [...WATCH_NAMES, "registry"]);
  const settings = parseWatch(raw);
  const registry = raw.registry === undefined ? new Registry() : parseRegistry(raw.registry);
  const totals = new Totals();
  const watching = watchInstance(settings, totals);
  try {
    const unregister = register(registry, totals, watching.gauges, watching.sets);
    return {
      registry,
      watch: (app) => watching.gauges.watch(app),
      text: () => registry.metrics(),
      handler: (request) => answer(registry, request),
      ...closable([watching.end, unregister]),
    };
  } catch (error) {
    watching.end();
    throw error;
  }
};

const answer = async (registry: AnyRegistry, { method }: Request): Promise<Response> => {
  if (method !== "GET" && method !== "HEAD") return new Response("Use GET.\n", { status: 405, headers: { allow: "GET, HEAD" } });
  const body = method === "HEAD" ? null : await registry.metrics();
  return new Response(body, { headers: { "content-type": registry.contentType, "cache-control": "no-store" } });
};

const parseRegistry = (value: unknown): AnyRegistry => {
  if (typeof value === "object" && value !== null && "registerMetric" in value && "metrics" in value) return value as AnyRegistry; // what is used of it
  throw new RheoError("invalid_option", "registry is a Registry of prom-client.", { path: "registry" });
};
