/** The page `docs/bug-corpus.md`, made of the cases. */
import { corpusCases, corpusThemes } from "./cases.ts";
import { type CorpusCase, EVERY_STORE, type Place } from "./corpus-case.ts";
import { proofsOf } from "./proofs-of.ts";
import type { TestReference } from "./test-reference.ts";

/** From the root of the project. */
export const PAGE = "docs/bug-corpus.md";

export const corpusPage = (): string =>
  `${[
    "# The bug corpus",
    "",
    "<!-- Made by `npm run corpus`: change the cases in apps/proof/src/corpus instead. -->",
    "",
    "Faults that people have met in systems that do this work, and those that a reading of the original found. Each is a test of its whole",
    "kind, on every store that it concerns; where an outcome was open to choice, the rules of [the semantics](semantics.md) decide.",
    "",
    "*Tests* of the contract suite run on each of the six stores, with one instance and with two; the others stand in the file that is",
    "named. Those on MongoDB run against a double of one server unless `RHEO_TEST_MONGODB_URL` names a real replica set; those behind a pooler",
    "say that they were not run where none is installed.",
    "",
    `Of ${corpusCases.length} cases ${count("holds")} hold, ${count("open")} are open, and ${count("not ours")} are not ours.`,
    ...corpusThemes.flatMap(({ title, cases }) => ["", `## ${title}`, "", ...HEAD, ...cases.map(rowOf)]),
    "",
  ].join("\n")}`;

const HEAD = ["| id | kind | where | tests | verdict | rule |", "|---|---|---|---|---|---|"];

const count = (verdict: CorpusCase["verdict"]): number => corpusCases.filter((one) => one.verdict === verdict).length;

const rowOf = (one: CorpusCase): string => {
  const verdict = one.note === "" ? one.verdict : `${one.verdict}. ${one.note}`;
  const cells = [one.id, one.kind, placesText(one.concerns), proofsOf(one).map(testText).join("<br>"), verdict, one.rules];
  return `| ${cells.map(escaped).join(" | ")} |`;
};

const placesText = (places: readonly Place[]): string => {
  const isEvery = EVERY_STORE.every((store) => places.includes(store));
  if (!isEvery) return places.join(", ");
  const others = places.filter((place) => !EVERY_STORE.some((store) => store === place));
  return ["every store", ...others].join(", ");
};

const testText = ({ file, title }: TestReference): string => `\`${shortName(file)}\` ${title.replaceAll("`", "'")}`;

/** The file without what all have in common. */
const shortName = (file: string): string =>
  file
    .replace(/^(?:packages|apps)\//, "")
    .replace(/^backends\//, "")
    .replace("/test/", "/")
    .replace(/^testing\/src\//, "")
    .replace(/(?:\.test)?\.ts$/, "");

/** What would end a cell, or be taken for a tag. */
const escaped = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/<(?!br>)/g, "&lt;");
