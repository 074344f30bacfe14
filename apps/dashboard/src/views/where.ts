import type { Event, EventRecord, Filter } from "@rheo/core";
import { compileFilter, parseFilter } from "@rheo/core/internal";
import type { Params } from "./params.ts";

/** The filter of a URL: parts `type`, `key` and `correlationId`, and `where` as JSON. Null when there is none. @throws invalid_query, invalid_option */
export const filterOf = (params: Params): Filter | null => {
  const parts: Filter[] = [];
  for (const name of ["type", "key", "correlationId"] as const) {
    const text = params.text(name);
    if (text !== null) parts.push({ [name]: text });
  }
  const where = params.json("where");
  if (where !== null) parts.push(parseFilter(where));
  return parts.length === 0 ? null : { and: parts };
};

/** Whether an event passes. */
export const eventMatcher = (filter: Filter | null): ((event: Event) => boolean) => {
  const matches = compileFilter(filter);
  return (event) => matches(event.stream, recordOf(event));
};

/** A record that has been read already: matchers look at its event alone. */
const recordOf = (event: Event): EventRecord => ({
  id: event.id,
  partition: event.partition,
  sequence: event.sequence,
  timestampMs: event.timestamp.getTime(),
  type: event.type,
  key: event.key,
  metadata: "{}",
  payload: "null",
  event,
});
