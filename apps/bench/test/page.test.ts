import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { aimsTable } from "../src/page/aims-table.ts";
import { CHARTS } from "../src/page/charts.ts";
import { between } from "../src/page/checks.ts";
import { drawBars, drawLines } from "../src/page/draw.ts";
import { fillTemplate } from "../src/page/make.ts";
import { topicTable } from "../src/page/table.ts";
import { pagesNow } from "../src/page/write.ts";
import { show, showParameters, toTable } from "../src/report.ts";
import { EMPTY, type Result } from "../src/results/kept.ts";

const DOCS = fileURLToPath(new URL("../../../docs", import.meta.url));
const PLAIN = { bytes: 300, partitions: 1, processes: 1 };
const result = (system: string, value: number, more: Partial<Result> = {}): Result => ({
  topic: "drain-inline",
  question: "drain inline",
  system,
  settings: "",
  parameters: PLAIN,
  unit: "events/s",
  values: [value],
  ...more,
});

test("docs/performance.md, docs/sizing.md and the charts are what the command makes of the results that are kept", async () => {
  for (const [path, content] of await pagesNow()) {
    const found = await readFile(join(DOCS, path), "utf8").catch(() => "not there");
    expect(found === content, `docs/${path} is old: npm run bench -- report`).toBe(true);
  }
});

test("no chart lies in the docs that is not made any more", async () => {
  const made = [...(await pagesNow()).keys()].filter((path) => path.endsWith(".svg")).map((path) => path.split("/").at(-1));
  const found = await readdir(join(DOCS, "pictures", "performance")).catch(() => []);
  expect(new Set(found)).toEqual(new Set(made));
});

test("an aim that is missed says so, one that is met says so, and one without a number says so", () => {
  const table = aimsTable([result("memory", 1_600_000), result("sqlite", 199_999, { settings: "synchronous=full" })]);
  expect(table).toMatch(/memory: drain inline\|≥ 1,500,000 events\/s\|1,600,000 events\/s\|reached/);
  expect(table).toMatch(/SQLite, FULL: drain inline\|≥ 200,000 events\/s\|199,999 events\/s\|\*\*short\*\*/);
  expect(table).toMatch(/SQLite, NORMAL: drain inline\|.*\|–\|not measured/);
});

test("an aim beside others is a ratio to the best of them", () => {
  const table = aimsTable([result("postgres", 100), result("graphile-worker 0.1", 20), result("pg-boss work() 10", 50)]);
  expect(table).toMatch(/beside the best job queue on it\|≥ 4.00 ×\|2.00 ×\|\*\*short\*\*/);
});

test("a line of a template is replaced by what it names, and by a note where nothing was measured", () => {
  const kept = { ...EMPTY, results: [result("memory", 5)] };
  expect(fillTemplate("a\n{{ table drain-inline }}\nb\n", kept)).toContain(
    "|drain inline|bytes 300, partitions 1, processes 1|memory|",
  );
  expect(fillTemplate("{{ table hardships }}\n", kept)).toBe("*Not measured yet.*\n");
});

test("a template that names what there is not is refused", () => {
  expect(() => fillTemplate("{{ nonsense }}\n", EMPTY)).toThrow("{{ nonsense }} is not known");
});

test("a page says how even the machine was, and warns where it was not", () => {
  const machine = { platform: "linux", cpu: "a processor", cores: 2, memoryGiB: 8 };
  const session = { startedAt: "then", endedAt: "now", commit: "abc", command: "npm run bench --", machine, versions: {} };
  const page = (calibrations: readonly number[]): string => {
    const noise = { loadBefore: 0, loadAfter: 1, stolen: null, calibrations };
    return fillTemplate("{{ noise }}\n", { ...EMPTY, sessions: [{ ...session, noise }] });
  };
  expect(page([100, 101, 99])).toMatch(/^The same small piece of work, done 3 times .* took ± 1\.0 %/);
  expect(page([100, 50, 20])).toMatch(/^\*\*The machine was busy/);
});

test("a table has the median, both ends and the deviation of each result of its topics, in their order", () => {
  const other = result("redis", 7, { topic: "append", question: "append", parameters: {}, values: [1, 2, 4] });
  const table = topicTable([result("memory", 5), other], ["append", "drain-inline"]);
  expect(table?.split("\n").slice(2)).toEqual([
    "|append||redis|events/s|2|1 – 4|50.0 %|",
    "|drain inline|bytes 300, partitions 1, processes 1|memory|events/s|5|5 – 5|0.0 %|",
  ]);
});

test("a table of topics without results is none", () => {
  expect(topicTable([], ["append"])).toBeNull();
});

test("bars are SVG with their labels and values, whatever was drawn before", () => {
  const bars = [{ label: "memory", value: 5, text: "five", role: "rheo" as const }];
  const first = drawBars("A title", "events/s", bars);
  expect(first).toMatch(/^<svg .*memory.*five/s);
  expect(drawBars("A title", "events/s", bars)).toBe(first);
});

test("lines leave out what was not measured", () => {
  const svg = drawLines("A title", "events/s", "partitions", [
    {
      name: "one",
      points: [
        [1, 10],
        [4, 20],
      ],
    },
    { name: "other", points: [[16, 5]] },
  ]);
  expect(svg).toMatch(/^<svg .*partitions.*one.*other/s);
});

test("every chart is of its own name, and none is drawn of nothing", () => {
  expect(new Set(CHARTS.map(({ name }) => name)).size).toBe(CHARTS.length);
  expect(CHARTS.map((chart) => chart.draw([]))).toEqual(CHARTS.map(() => null));
});

test("a drain's chart shows Rheo, the bare store and the peers beside it", () => {
  const chart = CHARTS.find(({ name }) => name === "drain-postgres");
  const bare = result("postgres", 300, { question: "bare read+cursor", parameters: { bytes: 300, "per batch": 1_000 } });
  const svg = chart?.draw([result("postgres", 200), bare, result("graphile-worker 0.17.3", 100), result("redis", 999)]) ?? "";
  expect(svg).toMatch(/postgres, inline.*postgres, bare read and cursor.*graphile-worker 0\.17\.3/s);
  expect(svg).not.toContain("redis");
});

test("what costs a fixed part and a part for each is known between two sizes", () => {
  expect(between([1, 3], [1_001, 1_003], 11)).toBe(13);
});

test("numbers are shown with as many digits as say something", () => {
  expect(show(1_234_567.8, "events/s")).toBe("1,234,568");
  expect(show(0.12345, "ms")).toBe("0.123");
  expect(show(12.345, "ms")).toBe("12.3");
  expect(show(Number.NaN, "ms")).toBe("–");
});

test("parameters are shown by name", () => {
  expect(showParameters({ "per call": 1_000, callers: 4 })).toBe("per call 1,000, callers 4");
});

test("the table of a run has a row for each result and each remark", () => {
  const kept = { ...EMPTY, results: [result("memory", 5)], remarks: [{ question: "drain", system: "peer", text: "failed: no" }] };
  expect(toTable(kept)).toMatch(/drain inline.*memory.*peer.*failed: no/s);
});
