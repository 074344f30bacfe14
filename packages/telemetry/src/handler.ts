/** What a handler module imports: small, and safe in a worker thread. */
export { traced, tracedBatch } from "./otel/traced.ts";
