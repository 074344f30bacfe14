import { readFileSync } from "node:fs";
import { murmur2, partitionOfKey } from "@rheo/core/internal";
import { expect, test } from "vitest";

interface Vector {
  readonly key: string;
  readonly hash: number;
  readonly of3: number;
  readonly of16: number;
  readonly of1024: number;
}

/** Hashes and partitions as Kafka's Java client gives them. */
const vectors: readonly Vector[] = JSON.parse(readFileSync(new URL("./fixtures/murmur2.json", import.meta.url), "utf8"));

test.each(vectors.map((vector) => [JSON.stringify(vector.key).slice(0, 40), vector] as const))(
  "L3 · %s goes where Kafka puts it",
  (_, vector) => {
    expect(murmur2(Buffer.from(vector.key, "utf8"))).toBe(vector.hash);
    expect([3, 16, 1024].map((count) => partitionOfKey(vector.key, count))).toEqual([vector.of3, vector.of16, vector.of1024]);
  },
);

test("L3 · with one partition every key goes to it", () => {
  expect(partitionOfKey("anything", 1)).toBe(0);
});
