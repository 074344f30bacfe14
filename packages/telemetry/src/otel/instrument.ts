import { type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { parseBoolean, parseOptions } from "@rheo/core/internal";
import { type Closable, closable } from "../closable.ts";
import type { Supervised } from "../gauges/app-readings.ts";
import { parseWatch, WATCH_NAMES, type WatchOptions } from "../options.ts";
import { watchInstance } from "../watching.ts";
import { deliverySpans } from "./delivery-spans.ts";
import { Instruments } from "./instruments.ts";
import { parseProvider } from "./provider.ts";
import { SCOPE } from "./scope.ts";

export interface InstrumentOptions extends WatchOptions {
  /** Default: the global one, which may also be registered later. */
  readonly meterProvider?: MeterProvider;
  /** Default: the global one. Its sampler decides which traces are kept. */
  readonly tracerProvider?: TracerProvider;
  /** Whether deliveries have spans, where their events carry a trace. Default true. */
  readonly spans?: boolean;
}

/** An instance that tells OpenTelemetry what happens. */
export interface Telemetry extends Closable {
  /** Adds gauges of the consumers and threads of a supervisor of this process, until it has stopped. */
  readonly watch: (app: Supervised) => void;
}

/**
 * Tells OpenTelemetry what happens in an instance: metrics as in the catalogue, and spans of deliveries whose events carry the context
 * of a trace. `close` ends the spans of what is still held; to flush is the providers' business. The store is read
 * when the meter collects, and not more often than `gaugesEveryMs`.
 * @throws invalid_option, invalid_name - see the options
 */
export const instrument = (options: InstrumentOptions): Telemetry => {
  const raw = parseOptions("instrument", options, [...WATCH_NAMES, "meterProvider", "tracerProvider", "spans"]);
  const settings = parseWatch(raw);
  const meters = parseProvider<MeterProvider>("meterProvider", raw.meterProvider, "getMeter") ?? metrics.getMeterProvider();
  const tracers = parseProvider<TracerProvider>("tracerProvider", raw.tracerProvider, "getTracer") ?? trace.getTracerProvider();
  const hasSpans = parseBoolean("spans", raw.spans, true);
  const instruments = new Instruments(meters.getMeter(SCOPE));
  const watching = watchInstance(settings, instruments);
  const ends = [watching.end, instruments.observe(watching.gauges)];
  if (hasSpans) ends.push(deliverySpans(settings.rheo, tracers.getTracer(SCOPE)));
  return { watch: (app) => watching.gauges.watch(app), ...closable(ends) };
};
