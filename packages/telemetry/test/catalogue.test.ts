/** The catalogue is what the README, the dashboard and the alert rules say it is. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { CATALOGUE, type Metric } from "@rheo/telemetry/internal";
import { expect, test } from "vitest";
import { alertRules } from "./fixtures/alert-rules.ts";

const resolve = (name: string): string => createRequire(import.meta.url).resolve(name);
const read = (name: string): Promise<string> => readFile(resolve(name), "utf8");
const NAMES = CATALOGUE.map(({ prometheus }) => prometheus);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}
const panelsOf = async (): Promise<readonly Panel[]> =>
  (JSON.parse(await read("@rheo/telemetry/grafana/rheo.json")) as { panels: Panel[] }).panels; // it is ours

test("the table of the README is the catalogue", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const rows = [...readme.matchAll(/^\| `(rheo_\w+)` \| `(\S+)` \| (\w+) \| (\S*) ?\| (.*?) ?\| (.*) \|$/gm)].map(
    ([, ...row]) => row,
  );
  expect(rows).toEqual(
    CATALOGUE.map(({ prometheus, otel, kind, unit, labels, help }) => [
      prometheus,
      otel,
      kind,
      unit === "1" ? "" : unit,
      labels.join(", "),
      help,
    ]),
  );
});

test("names say kind and unit, are unique, and are in both worlds what is usual there", () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
  expect(new Set(CATALOGUE.map(({ otel }) => otel)).size).toBe(NAMES.length);
  for (const { prometheus, otel, kind, unit, help } of CATALOGUE) {
    expect(prometheus).toMatch(/^rheo(_[a-z]+)+$/);
    expect(otel).toMatch(/^(rheo|messaging)(\.[a-z_]+)+$/);
    expect(prometheus.endsWith("_total"), prometheus).toBe(kind === "counter");
    expect(prometheus.endsWith("_seconds"), prometheus).toBe(unit === "s");
    expect(prometheus, "reserved for the parts of histograms").not.toMatch(/_(bucket|sum|count)$/);
    expect(help, prometheus).toMatch(/^[A-Z0-9].*\.$/);
  }
});

test("labels are few, and none of them is what an event holds", () => {
  const allowed = ["stream", "group", "state", "why", "outcome", "by", "call", "code", "kind"];
  for (const { labels, prometheus } of CATALOGUE) {
    expect(
      labels.filter((label) => !allowed.includes(label)),
      prometheus,
    ).toEqual([]);
    expect(labels.length, prometheus).toBeLessThanOrEqual(4);
  }
});

test("each expression of the dashboard is about metrics and labels of the catalogue, and each metric is on it", async () => {
  const exprs = (await panelsOf()).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  for (const expr of exprs) checkExpression(expr);
  expect(NAMES.filter((name) => !exprs.some((expr) => metricsOf(expr).includes(name)))).toEqual([]);
});

test("panels have a name, a text and a place of their own", async () => {
  const panels = await panelsOf();
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const taken = new Set<string>();
  for (const { title, description, gridPos, targets } of panels) {
    expect(title).not.toBe("");
    if (targets !== undefined) expect(description, title).toMatch(/\.$/);
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`), `${title} overlaps`).toBe(false);
        taken.add(`${x},${y}`);
      }
    }
  }
});

test("each alert rule is about metrics of the catalogue, and has a severity, a summary, a reason and a runbook", async () => {
  const rules = alertRules(await read("@rheo/telemetry/alerts/rheo.yml"));
  expect(rules.length).toBeGreaterThan(10);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, expr, severity, annotations } of rules) {
    expect(alert).toMatch(/^Rheo[A-Z]\w+$/);
    checkExpression(expr);
    expect(["critical", "warning", "info"], alert).toContain(severity);
    expect(Object.keys(annotations), alert).toEqual(["summary", "reason", "runbook"]);
    for (const text of Object.values(annotations)) expect(text.length, alert).toBeGreaterThan(25);
    for (const [, label = ""] of (annotations.summary ?? "").matchAll(/\$labels\.(\w+)/g))
      expect(expr, `${alert}: ${label}`).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`));
  }
});

/** Names of metrics in an expression, those of the parts of a histogram as that of the histogram. */
const metricsOf = (expr: string): string[] =>
  [...expr.matchAll(/\brheo_\w+/g)].map(([name]) => (NAMES.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, "")));

/** Labels that Prometheus or the histogram adds. */
const ADDED = ["job", "instance", "le"];

const checkExpression = (expr: string): void => {
  const metrics = metricsOf(expr).map((name) => {
    const metric = CATALOGUE.find(({ prometheus }) => prometheus === name);
    expect(metric, `${name} of ${expr} is not in the catalogue`).toBeDefined();
    return metric;
  });
  expect(metrics.length, expr).toBeGreaterThan(0);
  checkSelectors(expr);
  const known = [...ADDED, ...metrics.flatMap((metric) => metric?.labels ?? [])];
  for (const [, list = ""] of expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g))
    for (const label of list.split(", ")) expect(known, `${label} of ${expr}`).toContain(label);
  expect(expr.match(/\(/g)?.length, expr).toBe(expr.match(/\)/g)?.length);
};

/** Each metric is asked for labels that it has, and a counter for its rate. */
const checkSelectors = (expr: string): void => {
  for (const [, name = "", selector = "", range = ""] of expr.matchAll(/\b(rheo_\w+)(\{[^}]*\})?(\[[^\]]+\])?/g)) {
    const metric: Metric | undefined = CATALOGUE.find(({ prometheus }) => prometheus === metricsOf(name)[0]);
    for (const [, label = ""] of selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
      expect(metric?.labels, `${label} of ${expr}`).toContain(label);
    if (metric?.kind === "gauge") expect(range, `${expr}: a gauge has no rate`).toBe("");
    else if (!name.includes("escalations")) expect(range, `${expr}: of a counter the rate is wanted`).not.toBe("");
  }
};
