export type { Closable } from "./closable.ts";
export type { Supervised } from "./gauges/app-readings.ts";
export type { WatchOptions } from "./options.ts";
export { type InstrumentOptions, instrument, type Telemetry } from "./otel/instrument.ts";
export { type Publisher, publisher, stamp } from "./otel/publisher.ts";
