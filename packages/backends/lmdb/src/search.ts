import type { EventRecord, SearchAnswer, SearchRequest } from "@rheo/core";
import { compileFilter } from "@rheo/core/internal";
import type { Environment } from "./environment.ts";
import { logOf } from "./read.ts";
import type { Unit } from "./session.ts";
import { type Log, readBackward, readForward, sequenceAtTime } from "./tables/events.ts";

/** Events read at a time, and their bytes. */
const PAGE = 500;
const PAGE_BYTES = 4_194_304;

/** Sequences in (after, until]. */
interface Span {
  readonly after: number;
  readonly until: number;
}

/**
 * Filters where the events are. At most `examine` of them are looked at, so that one call stays short however rare the matches are.
 * @throws stream_not_found
 */
export const search = ({ environment, catalog }: Unit, request: SearchRequest): SearchAnswer => {
  const log = logOf(catalog.requireStream(request.stream), request.partition);
  const whole = spanOf(environment, log, request);
  const rising = request.order === "asc";
  const span = rising
    ? { after: whole.after, until: Math.min(whole.until, whole.after + request.examine) }
    : { after: Math.max(whole.after, whole.until - request.examine), until: whole.until };
  if (span.after >= span.until) return { events: [], passed: null, ended: true };
  const { events, isFull } = collect(eventsIn(environment, log, span, rising), request);
  if (isFull) return { events, passed: events[events.length - 1]?.sequence ?? null, ended: false };
  return rising
    ? { events, passed: span.until, ended: span.until === whole.until }
    : { events, passed: span.after + 1, ended: span.after === whole.after };
};

/** All that the request may mean, as far as it is retained. */
const spanOf = (environment: Environment, log: Log, { after, until, fromMs }: SearchRequest): Span => {
  const first = fromMs === null ? log.firstSequence : sequenceAtTime(environment, log, fromMs);
  return { after: Math.max(first - 1, after), until: Math.min(log.highWatermark, until ?? log.highWatermark) };
};

/** The matches among them, until there are as many, or as much, as may be. */
const collect = (found: Iterable<EventRecord>, request: SearchRequest): { events: EventRecord[]; isFull: boolean } => {
  const { stream, limit, maxBytes, fromMs, toMs, filter } = request;
  const matches = compileFilter(filter);
  const events: EventRecord[] = [];
  let bytes = 0;
  for (const event of found) {
    if ((fromMs !== null && event.timestampMs < fromMs) || (toMs !== null && event.timestampMs >= toMs)) continue;
    if (!matches(stream, event)) continue;
    bytes += event.bytes ?? 0;
    if (events.length > 0 && bytes > maxBytes) return { events, isFull: true };
    events.push(event);
    if (events.length === limit) return { events, isFull: true };
  }
  return { events, isFull: false };
};

function* eventsIn(environment: Environment, log: Log, { after, until }: Span, rising: boolean): Generator<EventRecord> {
  const read = rising ? readForward : readBackward;
  for (let low = after, high = until; low < high; ) {
    const page = read(environment, log, { after: low, until: high, limit: PAGE, maxBytes: PAGE_BYTES });
    yield* page;
    const last = page[page.length - 1]?.sequence;
    if (last === undefined) return;
    if (rising) low = last;
    else high = last - 1;
  }
}
