/** For handler modules: small, and safe in a worker thread. */
import { type Attributes, type Context, context as contexts, type Link, type Span, SpanKind, trace } from "@opentelemetry/api";
import { isThenable } from "@rheo/core/internal";
import type { BatchHandlerFunction, HandlerFunction } from "@rheo/runtime";
import { ATTRIBUTE, SYSTEM } from "./attributes.ts";
import { fail } from "./failing.ts";
import { linksOf } from "./links.ts";
import { SCOPE } from "./scope.ts";
import { remoteContext, spanContextOf } from "./trace-context.ts";

/**
 * A handler that runs in a span, "process", in the trace of the event's append: what it does is in that trace too. The tracer is the global
 * one of the thread that it runs in. Without a tracer, the handler runs as it is.
 */
export const traced =
  <Payload, Setup>(run: HandlerFunction<Payload, Setup>): HandlerFunction<Payload, Setup> =>
  (event, context) => {
    const parent = spanContextOf(event.metadata.traceparent, event.metadata.tracestate);
    const attributes = {
      ...attributesOf(event.stream),
      [ATTRIBUTE.partition]: String(context.partition),
      [ATTRIBUTE.messageId]: event.id,
      [ATTRIBUTE.sequence]: context.sequence,
      [ATTRIBUTE.attempt]: context.attempt,
    };
    return inSpan(
      `process ${event.stream}`,
      attributes,
      parent === null ? contexts.active() : remoteContext(parent, contexts.active()),
      [],
      () => run(event, context),
    );
  };

/** The same for a batch handler: one span, linked with the traces of its events. */
export const tracedBatch =
  <Payload, Setup>(run: BatchHandlerFunction<Payload, Setup>): BatchHandlerFunction<Payload, Setup> =>
  (events, context) => {
    const attributes = { ...attributesOf(events[0]?.stream ?? ""), [ATTRIBUTE.messages]: events.length };
    return inSpan(`process ${events[0]?.stream ?? ""}`, attributes, contexts.active(), linksOf(events), () =>
      run(events, context),
    );
  };

const attributesOf = (stream: string): Attributes => ({
  [ATTRIBUTE.system]: SYSTEM,
  [ATTRIBUTE.stream]: stream,
  [ATTRIBUTE.operation]: "process",
  [ATTRIBUTE.operationType]: "process",
});

/** What returns at once is not made to wait. */
const inSpan = (name: string, attributes: Attributes, parent: Context, links: Link[], run: () => unknown): unknown => {
  const span = trace.getTracer(SCOPE).startSpan(name, { kind: SpanKind.CONSUMER, attributes, links }, parent);
  const thrown = (cause: unknown): never => {
    fail(span, cause instanceof Error ? cause.name : "other");
    span.end();
    throw cause;
  };
  const returned = (value: unknown): unknown => {
    tellOutcome(span, value);
    span.end();
    return value;
  };
  let result: unknown;
  try {
    result = contexts.with(trace.setSpan(parent, span), run);
  } catch (cause) {
    return thrown(cause);
  }
  return isThenable(result) ? Promise.resolve(result).then(returned, thrown) : returned(result);
};

/** A handler may return anything. */
const tellOutcome = (span: Span, value: unknown): void => {
  const kind: unknown = typeof value === "object" && value !== null && "kind" in value ? value.kind : "ack";
  if (kind !== "retry" && kind !== "reject" && kind !== "ack" && kind !== "release") return;
  span.setAttribute(ATTRIBUTE.outcome, kind);
  if (kind === "retry" || kind === "reject") fail(span, kind);
};
