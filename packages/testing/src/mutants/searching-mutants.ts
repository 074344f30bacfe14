/** Faults in searching: what filters where the events are may let through too much, but never too little. */
import type { Backend, EventRecord, SearchAnswer, SearchRequest } from "@rheo/core";
import { compileFilter } from "@rheo/core/internal";
import { type Mutant, mutant } from "./mutant.ts";

/** A right one, over `read`. */
const searchBy = async (inner: Backend, request: SearchRequest): Promise<SearchAnswer> => {
  const { stream, order, limit, filter, fromMs, toMs, examine } = request;
  const page = await inner.read({ ...request, limit: examine });
  const passes = compileFilter(filter);
  const isWithin = ({ timestampMs }: EventRecord): boolean =>
    (fromMs === null || timestampMs >= fromMs) && (toMs === null || timestampMs < toMs);
  const events: EventRecord[] = [];
  for (const event of page) {
    if (events.length === limit) return { events, passed: events.at(-1)?.sequence ?? null, ended: false };
    if (isWithin(event) && passes(stream, event)) events.push(event);
  }
  const last = page.at(-1)?.sequence ?? null;
  const marks = (await inner.watermarks(stream))[request.partition];
  const end =
    order === "asc"
      ? Math.min(request.until ?? Number.MAX_SAFE_INTEGER, marks?.highWatermark ?? 0)
      : Math.max(request.after + 1, marks?.firstSequence ?? 1);
  return { events, passed: last, ended: last === null || (order === "asc" ? last >= end : last <= end) };
};

const searchMutant = (
  name: string,
  fault: string,
  search: (inner: Backend, request: SearchRequest) => Promise<SearchAnswer>,
): Mutant => mutant(name, fault, (inner) => ({ search: (request) => search(inner, request) }));

export const searchingMutants: readonly Mutant[] = [
  searchMutant("search-skips-the-first", "the first match of a page is left out", async (inner, request) => {
    const answer = await searchBy(inner, request);
    return { ...answer, events: answer.events.slice(1) };
  }),
  searchMutant("search-passes-too-far", "a page that is full says that one more event was looked at", async (inner, request) => {
    const answer = await searchBy(inner, request);
    if (answer.passed === null || answer.ended) return answer;
    return { ...answer, passed: answer.passed + (request.order === "asc" ? 1 : -1) };
  }),
  searchMutant("search-ends-early", "what was looked at is taken for all there is", async (inner, request) => ({
    ...(await searchBy(inner, { ...request, examine: 100 })),
    ended: true,
  })),
  searchMutant("search-forgets-the-lower-bound", "matches before the place asked for are given again", (inner, request) =>
    searchBy(inner, { ...request, after: 0 }),
  ),
  searchMutant(
    "search-compares-as-text",
    "numbers pass where only strings should, and strings where only numbers",
    async (inner, request) => {
      const answer = await searchBy(inner, { ...request, filter: null });
      const asText = compileFilter(
        request.filter === null ? null : (JSON.parse(JSON.stringify(request.filter, textOfNumbers)) as never),
      ); // still a filter
      return { ...answer, events: answer.events.filter((event) => asText(request.stream, event)) };
    },
  ),
  searchMutant("search-takes-to-as-inclusive-from-as-exclusive", "the first instant of a span is left out", (inner, request) =>
    searchBy(inner, { ...request, fromMs: request.fromMs === null ? null : request.fromMs + 1 }),
  ),
];

const textOfNumbers = (_name: string, value: unknown): unknown => (typeof value === "number" ? String(value) : value);
