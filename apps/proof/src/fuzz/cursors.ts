/** The door "cursors": cursors of pages that were bent, cut off, or are of another query. */
import type { Rheo } from "@rheo/core";
import fc from "fast-check";
import { STREAM } from "./calls.ts";
import { type Door, doorOf } from "./door.ts";
import { judge } from "./judge.ts";
import { openScene, STORES } from "./scene.ts";

type Bend = (cursor: string, other: string) => string;

const positions = fc.array(
  fc.oneof(fc.constant(null), fc.constantFrom(0, -1, 0.5, 1e21, 2 ** 53, 3), fc.constantFrom("1", true, [])),
  { maxLength: 3 },
);

/** The fingerprint of the query stays, and what it stands beside changes. */
const withPositions =
  (given: unknown): Bend =>
  (cursor) => {
    const [print] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as unknown[];
    return Buffer.from(JSON.stringify([print, given])).toString("base64url");
  };

const bend: fc.Arbitrary<Bend> = fc.oneof(
  fc.nat(200).map(
    (at): Bend =>
      (cursor) =>
        cursor.slice(0, at % (cursor.length + 1)),
  ),
  fc.tuple(fc.nat(200), fc.string({ maxLength: 3, unit: "binary" })).map(
    ([at, text]): Bend =>
      (cursor) => {
        const place = at % (cursor.length + 1);
        return cursor.slice(0, place) + text + cursor.slice(place + text.length);
      },
  ),
  positions.map(withPositions),
  fc.constant<Bend>((_, other) => other),
  fc.constant<Bend>((cursor) => cursor.repeat(2_000)),
  fc.anything().map(
    (value): Bend =>
      () =>
        Buffer.from(fc.stringify(value)).toString("base64url"),
  ),
);

export const cursors: Door = doorOf(
  "cursors",
  fc.record({ url: fc.constantFrom(...STORES), bends: fc.array(bend, { minLength: 1, maxLength: 8 }) }),
  async ({ url, bends }, counts) => {
    const { rheo, cursor } = await openScene(url);
    const faults: string[] = [];
    try {
      const { nextCursor } = await rheo.queryPage(STREAM, { limit: 1, order: "desc" });
      for (const one of bends) {
        const bent = one(cursor, nextCursor ?? "");
        const verdict = await judge(() => rest(rheo, bent));
        counts.add(verdict);
        if (verdict.kind === "fault") faults.push(`cursor ${JSON.stringify(bent.slice(0, 200))}: ${verdict.text}`);
        if (verdict.kind === "refused" && verdict.code !== "invalid_query")
          faults.push(`cursor ${JSON.stringify(bent.slice(0, 200))}: ${verdict.code}`);
      }
    } finally {
      await rheo.close();
    }
    return faults;
  },
);

/** Pages that a cursor may lead to, at most. */
const MAX_PAGES = 50;

const rest = async (rheo: Rheo, from: string): Promise<number> => {
  let cursor: string | null = from;
  for (let pages = 0; cursor !== null; pages++) {
    if (pages === MAX_PAGES) throw new Error("The pages do not end.");
    ({ nextCursor: cursor } = await rheo.queryPage(STREAM, { limit: 1, cursor }));
  }
  return 0;
};
