import type { Link } from "@opentelemetry/api";
import type { Metadata } from "@rheo/core";
import { spanContextOf } from "./trace-context.ts";

/** As many as an exporter keeps by default. */
const MOST_LINKS = 128;

/** Links with the traces that events carry. */
export const linksOf = (events: readonly { readonly metadata?: Metadata | undefined }[]): Link[] => {
  const links: Link[] = [];
  for (const { metadata } of events) {
    const context = metadata === undefined ? null : spanContextOf(metadata.traceparent, metadata.tracestate);
    if (context !== null && links.push({ context }) === MOST_LINKS) break;
  }
  return links;
};
