/** Slices are read as two texts; what a foreign hand has put into a row must not move its neighbours' content. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { event, fill, openBackend, openHandle, request } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const read = { stream: "s", partition: 0, after: 0, until: Number.MAX_SAFE_INTEGER, order: "asc", limit: 1_000 } as const;
const MAX_BYTES = 1_000_000;

test("any content comes back as it was, with its own event", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { minLength: 2, maxLength: 8 }), async (values) => {
      const backend = await openBackend();
      await fill(backend, 0);
      const events = values.map((value) => event({ payload: JSON.stringify(value), key: "a\u001eb\u001e", type: '"\\' }));
      await backend.append([request(events)]);
      const records = await backend.read({ ...read, maxBytes: MAX_BYTES });
      expect(records.map(({ id, payload, key, type }) => [id, payload, key, type])).toEqual(
        events.map(({ id, payload, key, type }) => [id, payload, key, type]),
      );
    }),
    { numRuns: 30 },
  );
});

test.for([
  ["a separator", "'1' || char(30) || '2'"],
  ["a number", "7"],
] as const)("%s in place of a payload spoils that event, and no other", async ([, sql]) => {
  const file = temporaryFile();
  const backend = await openBackend({ file });
  await fill(backend, 5);
  const before = await backend.read({ ...read, maxBytes: MAX_BYTES });
  const handle = openHandle(file);
  handle.exec(`UPDATE rheo_events SET payload = ${sql} WHERE sequence = 3`);
  const all = await backend.read({ ...read, maxBytes: MAX_BYTES });
  expect(all.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
  expect(all.toSpliced(2, 1)).toEqual(before.toSpliced(2, 1));
});
