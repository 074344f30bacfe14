import { type Attributes, type Span, SpanKind, type TracerProvider, trace } from "@opentelemetry/api";
import { type EventInput, type Rheo, RheoError } from "@rheo/core";
import { parseOptions } from "@rheo/core/internal";
import { parseRheo } from "../options.ts";
import { ATTRIBUTE, SYSTEM } from "./attributes.ts";
import { fail } from "./failing.ts";
import { linksOf } from "./links.ts";
import { parseProvider } from "./provider.ts";
import { SCOPE } from "./scope.ts";
import { metadataOf } from "./trace-context.ts";

/** `append` and `appendMany` of an instance, each in a span. */
export type Publisher = Pick<Rheo, "append" | "appendMany">;

/**
 * Appends in a span, "send", whose context travels in the metadata of the events: what comes of them is in the same trace. An event
 * that carries a `traceparent` already keeps it, and the span links to it. Without a tracer it appends, and nothing else.
 *
 * An append that is repeated under its id must carry what it carried before, or it is an `id_conflict` (L4): where that may happen,
 * {@link stamp} the event first.
 * @throws invalid_option
 */
export const publisher = (rheo: Rheo, options: { readonly tracerProvider?: TracerProvider } = {}): Publisher => {
  const raw = parseOptions("publisher", options, ["tracerProvider"]);
  parseRheo(rheo);
  const given = parseProvider<TracerProvider>("tracerProvider", raw.tracerProvider, "getTracer");
  const tracer = (given ?? trace.getTracerProvider()).getTracer(SCOPE);
  const sending = async <Result>(
    stream: string | { readonly name: string },
    events: readonly EventInput[],
    append: (span: Span) => Promise<Result>,
  ): Promise<Result> => {
    const name = typeof stream === "string" ? stream : stream.name;
    const options = { kind: SpanKind.PRODUCER, links: linksOf(events), attributes: attributesOf(name, events) };
    return await tracer.startActiveSpan(`send ${name}`, options, (span) => ending(span, append(span)));
  };
  return {
    append: (stream, event, more) => sending(stream, [event], (span) => rheo.append(stream, stamped(event, span), more)),
    appendMany: (stream, events, more) =>
      sending(stream, events, (span) =>
        rheo.appendMany(
          stream,
          events.map((event) => stamped(event, span)),
          more,
        ),
      ),
  };
};

/** The event with the context of the active span in its metadata. As it was when it has one already, or none is active. */
export const stamp = <Payload>(event: EventInput<Payload>): EventInput<Payload> => stamped(event, trace.getActiveSpan());

const stamped = <Payload>(event: EventInput<Payload>, span: Span | undefined): EventInput<Payload> => {
  if (event.metadata !== undefined && "traceparent" in event.metadata) return event;
  const context = metadataOf(span?.spanContext());
  return "traceparent" in context ? { ...event, metadata: { ...event.metadata, ...context } } : event;
};

const attributesOf = (stream: string, events: readonly EventInput[]): Attributes => {
  const id = events.length === 1 ? events[0]?.id : undefined;
  return {
    [ATTRIBUTE.system]: SYSTEM,
    [ATTRIBUTE.stream]: stream,
    [ATTRIBUTE.operation]: "append",
    [ATTRIBUTE.operationType]: "send",
    ...(events.length === 1 ? {} : { [ATTRIBUTE.messages]: events.length }),
    ...(id === undefined ? {} : { [ATTRIBUTE.messageId]: id }),
  };
};

const ending = async <Result>(span: Span, work: Promise<Result>): Promise<Result> => {
  try {
    return await work;
  } catch (error) {
    fail(span, RheoError.is(error) ? error.code : "other");
    throw error;
  } finally {
    span.end();
  }
};
