/** Random events and filters whose paths meet and whose comparisons are close, with what trips translations to other languages. */
import type { EventRecord, Filter } from "@rheo/core";
import { compileFilter } from "@rheo/core/internal";
import fc from "fast-check";

/** Few names and values, so that paths meet and comparisons are close. */
const name = fc.constantFrom(
  "a",
  "b",
  "0",
  "1",
  "01",
  "-1",
  "+1",
  " 1",
  "1 ",
  "length",
  "__proto__",
  "constructor",
  "a.b",
  "",
  "é",
  "'",
  "\\",
  '"',
  "%s",
  "$1",
);
const word = fc.constantFrom(
  "",
  "a",
  "ab",
  "b",
  "A",
  "é",
  "z",
  "\uffff",
  "\u{1f600}",
  "\u{1f600}x",
  "1",
  "null",
  "'; DROP TABLE x; --",
  "\\",
  '"',
  "%L",
  "a\u0001b",
);
const number = fc.constantFrom(
  0,
  1,
  -1,
  1.5,
  0.1,
  1e21,
  1e-7,
  2 ** 53,
  123456789012345680000,
  5e-324,
  1.7976931348623157e308,
  10,
  9,
);
const scalar = fc.oneof(fc.constant(null), fc.boolean(), number, word);
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("json"), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie("json")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries) as unknown),
  ),
}));
const segment = name.map((text) => text.replaceAll(/[\\.]/g, "\\$&"));
const path = fc.oneof(
  fc.constantFrom("id", "type", "key", "correlationId", "payload"),
  segment.map((text) => `metadata.${text}`),
  fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => `payload.${segments.join(".")}`),
);
const nul = fc.constantFrom("\u0000", "a\u0000", "a\u0000b", "ab\u0000");
const text = fc.oneof({ weight: 8, arbitrary: word }, { weight: 1, arbitrary: nul });
const condition = fc.oneof(
  scalar,
  fc.array(json, { maxLength: 3 }),
  fc
    .record(
      {
        eq: json,
        ne: json,
        gt: fc.oneof(number, text),
        gte: fc.oneof(number, text),
        lt: fc.oneof(number, text),
        lte: fc.oneof(number, text),
        in: fc.array(fc.oneof(json, nul), { maxLength: 4 }),
        nin: fc.array(json, { maxLength: 4 }),
        exists: fc.boolean(),
        startsWith: text,
      },
      { requiredKeys: [] },
    )
    .filter((record) => Object.keys(record).length > 0)
    .map((record) => Object.fromEntries(Object.entries(record).slice(0, 2))),
);
const { filter: anyFilter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.array(fc.tuple(path, condition), { maxLength: 2 }).map((entries) => Object.fromEntries(entries) as Filter),
    fc.record({ and: fc.array(tie("filter"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ or: fc.array(tie("filter"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie("filter") }),
    fc.record({ where: tie("filter") }),
  ),
}));

export const filter: fc.Arbitrary<Filter> = anyFilter;

/** Content of an event, with metadata and payload as text. */
export interface Content {
  readonly type: string | null;
  readonly key: string | null;
  readonly metadata: string;
  readonly payload: string;
}

export const content: fc.Arbitrary<Content> = fc.record({
  type: fc.option(word),
  key: fc.option(word),
  metadata: fc
    .array(fc.tuple(fc.oneof(name, fc.constant("correlationId")), scalar), { maxLength: 3 })
    .map((entries) => JSON.stringify(Object.fromEntries(entries))),
  payload: json.map((value) => JSON.stringify(value)),
});

/** A filter, eight events, and which of them pass, as core's evaluator says. */
export interface FilterCase {
  readonly wanted: Filter;
  readonly records: readonly EventRecord[];
  readonly expected: readonly boolean[];
}

const EVENTS_PER_FILTER = 8;

export const filterCases: fc.Arbitrary<FilterCase> = fc
  .tuple(filter, fc.array(content, { minLength: EVENTS_PER_FILTER, maxLength: EVENTS_PER_FILTER }))
  .map(([given, events]) => {
    const wanted = JSON.parse(JSON.stringify(given)) as Filter; // as core stores it
    const records = events.map(
      (one, index): EventRecord => ({
        ...one,
        id: index % 2 === 0 ? "a" : `b${index}`,
        partition: 0,
        sequence: index + 1,
        timestampMs: 0,
      }),
    );
    const matches = compileFilter(wanted);
    return { wanted, records, expected: records.map((record) => matches("s", record)) };
  });
