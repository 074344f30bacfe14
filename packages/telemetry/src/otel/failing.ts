import { type Span, SpanStatusCode } from "@opentelemetry/api";
import { ATTRIBUTE } from "./attributes.ts";

/** Marks a span as failed, by a word that is not what was thrown: messages may hold what events hold. */
export const fail = (span: Span, type: string): void => {
  span.setAttribute(ATTRIBUTE.error, type);
  span.setStatus({ code: SpanStatusCode.ERROR });
};
