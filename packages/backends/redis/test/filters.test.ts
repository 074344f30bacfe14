/** The filter language in Lua means what core's evaluator means. */
import type { EventRecord, Filter } from "@rheo/core";
import { programText } from "@rheo/core/internal";
import { COMMON, EVENTS, FILTER, HEADER, LOG, tailOf, VALUES } from "@rheo/redis/internal";
import { filterCases } from "@rheo/testing/internal";
import { startRedis } from "@rheo/testing/servers";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";

const server = await startRedis();
const client = new Redis(server.url);

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Which of the events pass: program, then header and payload of each. */
const PROBE = `${COMMON}${LOG}${HEADER}${EVENTS}${VALUES}${FILTER}
local matches, answer = matcher_of(ARGV[5]), {}
for k = 6, #ARGV, 2 do answer[#answer + 1] = matches({ '1-0', { 'event', ARGV[k], 'payload', ARGV[k + 1] } }) and 1 or 0 end
return answer`;

/** Which of the events pass, as the script says. */
const ask = async (wanted: Filter, records: readonly EventRecord[]): Promise<boolean[]> => {
  const events = records.flatMap((record) => [`${record.id}\0${0}\0${tailOf(record)}`, record.payload]);
  const answer = await client.eval(PROBE, 1, "p:{s/0}:head", "", "0", "", "", programText(wanted) ?? "", ...events);
  return (answer as number[]).map((passes) => passes === 1);
};

const recordOf = (payload: unknown): EventRecord => ({
  id: "a",
  partition: 0,
  sequence: 1,
  timestampMs: 0,
  type: null,
  key: null,
  metadata: "{}",
  payload: JSON.stringify(payload),
});

describe("filters in Lua", () => {
  test("3,000 random filters pass the same of eight random events each as core does (G7)", { timeout: 120_000 }, async () => {
    let passed = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(filterCases, async ({ wanted, records, expected }) => {
        passed += expected.filter(Boolean).length;
        refused += expected.filter((one) => !one).length;
        expect(await ask(wanted, records)).toEqual(expected);
      }),
      { seed: 7, numRuns: 3_000 },
    );
    // a test that only ever sees one answer proves nothing
    expect(Math.min(passed, refused)).toBeGreaterThan(2_000);
  });

  test("an empty list is not an empty object, wherever it stands", async () => {
    const values = [
      [],
      {},
      { a: [] },
      { a: {} },
      [[]],
      [{}],
      "[]",
      "{}",
      { "[]": {} },
      { "{}": [] },
      'x"[]',
      ["[]", []],
      ["[]", {}],
      { '\\"': [] },
    ];
    for (const operand of values) {
      const found = await ask({ payload: { eq: operand } }, values.map(recordOf));
      expect(found, JSON.stringify(operand)).toEqual(values.map((value) => JSON.stringify(value) === JSON.stringify(operand)));
    }
  });
});
