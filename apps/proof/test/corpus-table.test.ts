/** The table of the corpus is true of this project: every id has a verdict, every test is there, and the page is what the cases make. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CORPUS_IDS, type CorpusCase, corpusCases, corpusPage, PAGE, placesOf, proofsOf } from "@rheo/proof";
import { contractCases } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../../${file}`, import.meta.url));
const sources = new Map<string, string>();
const sourceOf = (file: string): string => {
  const known = sources.get(file) ?? (existsSync(pathOf(file)) ? readFileSync(pathOf(file), "utf8") : "");
  sources.set(file, known);
  return known;
};

/** Whether a title stands in a file as a text of its own, however that is quoted; "…" stands for a placeholder. */
const isTitleIn = (source: string, title: string): boolean => {
  const text = title.split("…").map(literally).join("\\$\\{[^}]*\\}");
  return new RegExp(`(["'\`])${text}\\1`).test(source);
};

const literally = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/(["'`])/g, "\\\\?$1");

const missing = ({ id, tests }: CorpusCase): string[] =>
  tests.filter(({ file, title }) => !isTitleIn(sourceOf(file), title)).map(({ file, title }) => `${id}: ${file} · ${title}`);

describe("the corpus", () => {
  test("every id has one case, and there is no other", () => {
    expect(corpusCases.map(({ id }) => id).toSorted()).toEqual([...CORPUS_IDS].toSorted());
    expect(CORPUS_IDS).toHaveLength(156);
  });

  test("every test that is named is in its file", () => {
    expect(corpusCases.flatMap(missing)).toEqual([]);
  });

  test("a title that is not there would be found missing", () => {
    const [one] = corpusCases.filter(({ tests }) => tests.length > 0);
    if (one === undefined) return expect.unreachable("no case names a test");
    expect(missing({ ...one, tests: one.tests.map((named) => ({ ...named, title: `${named.title}!` })) })).toHaveLength(
      one.tests.length,
    );
  });

  test("what holds is tested wherever it concerns, and what does not says why", () => {
    const gaps = corpusCases.flatMap((one) => {
      const covered = placesOf(one);
      const untested = one.concerns.filter((place) => !covered.has(place));
      if (one.verdict === "holds") return untested.map((place) => `${one.id} is not tested on ${place}`);
      return one.note === "" ? [`${one.id} is ${one.verdict} without a reason`] : [];
    });
    expect(gaps).toEqual([]);
    expect(corpusCases.filter((one) => one.verdict !== "not ours" && proofsOf(one).length === 0).map(({ id }) => id)).toEqual([]);
  });

  test("every id that a test of the contract names is one of the corpus", () => {
    const named = contractCases.flatMap(({ also }) => also.filter((id) => /^[BO]\d+$/.test(id)));
    expect([...new Set(named)].filter((id) => !CORPUS_IDS.includes(id))).toEqual([]);
  });

  test(`${PAGE} is what \`npm run corpus\` makes of the cases`, () => {
    expect(sourceOf(PAGE)).toBe(corpusPage());
  });
});
