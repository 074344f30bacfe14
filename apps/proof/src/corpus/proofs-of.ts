/** All tests of a case: those it lists, and those of the contract suite that name its id. */
import { contractCases } from "@rheo/testing/internal";
import { type CorpusCase, EVERY_STORE, type Place } from "./corpus-case.ts";
import type { TestReference } from "./test-reference.ts";

/** Where the contract suite is. */
const CONTRACT = "packages/testing/src/contract";

export const proofsOf = ({ id, tests }: CorpusCase): readonly TestReference[] => [...contractTests(id), ...tests];

/** Cases of one fact that differ by what follows a colon are one line with a count. */
const contractTests = (id: string): readonly TestReference[] => {
  const counts = new Map<string, number>();
  for (const { also, title } of contractCases) {
    if (!also.includes(id)) continue;
    const fact = factOf(title);
    counts.set(fact, (counts.get(fact) ?? 0) + 1);
  }
  return [...counts].map(([fact, count]) => ({
    file: CONTRACT,
    title: count === 1 ? fact : `${fact} (${count} cases)`,
    on: EVERY_STORE,
  }));
};

/** The title without the ids at its end, and without what tells one of several cases from the others. */
const factOf = (title: string): string => {
  const plain = title.replace(/ \((?:[A-Z]\d+ ?)+\)$/, "");
  const common = plain.split(": ")[0] ?? plain;
  return contractCases.filter((other) => other.title.startsWith(`${common}: `)).length > 1 ? common : plain;
};

/** Where the tests of a case run. */
export const placesOf = (corpusCase: CorpusCase): ReadonlySet<Place> => new Set(proofsOf(corpusCase).flatMap(({ on }) => on));
