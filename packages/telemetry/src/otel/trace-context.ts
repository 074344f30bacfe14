/** The context of a trace as events carry it, in `metadata.traceparent` and `metadata.tracestate` (W3C Trace Context). */
import { type Context, createTraceState, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from "@opentelemetry/api";
import type { Metadata } from "@rheo/core";

/** Version 00, or a later one, of which the same parts are read; what follows them there is not looked at. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?=$|-)/;
/** What the specification asks carriers to keep. */
const MAX_TRACESTATE = 512;

/** Of what an event carries; null when it carries none that is valid. */
export const spanContextOf = (traceparent: unknown, tracestate: unknown = null): SpanContext | null => {
  const [, traceId, spanId, flags] = typeof traceparent === "string" ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  if (!isSpanContextValid(context)) return null;
  const isState = typeof tracestate === "string" && tracestate !== "" && tracestate.length <= MAX_TRACESTATE;
  return isState ? { ...context, traceState: createTraceState(tracestate) } : context;
};

/** A context whose spans are children of an event's. */
export const remoteContext = (spanContext: SpanContext, base: Context = ROOT_CONTEXT): Context =>
  trace.setSpanContext(base, spanContext);

/** What an event is to carry; nothing when the context is not valid, as without a tracer. */
export const metadataOf = (context: SpanContext | undefined): Metadata => {
  if (context === undefined || !isSpanContextValid(context)) return {};
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, "0");
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  const tracestate = context.traceState?.serialize() ?? "";
  return tracestate === "" || tracestate.length > MAX_TRACESTATE ? { traceparent } : { traceparent, tracestate };
};
