/** The site is built from what is there, and people find their way in it. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser } from "../../dashboard/test/fixtures/browser.ts";
import { ROOT, SITE } from "../src/places.ts";
import { type Served, serveSite } from "../src/serve-site.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const BUILD_MS = 300_000;

const built = execFileSync(process.execPath, [join(ROOT, "apps/site/dist/main.js")], { encoding: "utf8", timeout: BUILD_MS });

test("the site builds without a warning about the API, and each of its links leads somewhere", () => {
  expect(built).toMatch(/^\d{3,} pages in .*, each link of which leads somewhere$/m);
});

test("every guide, decision and README is a page", () => {
  const pages = new Set(readdirSync(SITE, { recursive: true, encoding: "utf8" }));
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".md"));
  const missing = docs.map(htmlOf).filter((page) => !pages.has(page));
  expect(missing).toEqual([]);
  expect([...pages]).toEqual(expect.arrayContaining(["packages/cli.html", "packages/sqlite.html", "contributing.html"]));
});

const htmlOf = (file: string): string =>
  file
    .replace(/README\.md$/, "index.html")
    .replace(/^([A-Z_]+)\.md$/, (name) => name.toLowerCase())
    .replace(/\.md$/, ".html");

test("every decision stands in their list, under its own title", () => {
  const folder = join(ROOT, "docs/adr");
  const list = readFileSync(join(folder, "README.md"), "utf8");
  const records = readdirSync(folder).filter((file) => /^\d{4}-.*\.md$/.test(file));
  const rows = records.map((file) => {
    const title = /^# \d+\. (.+)$/m.exec(readFileSync(join(folder, file), "utf8"))?.[1];
    return `| ${file.slice(0, 4)} | [${title}](${file}) |`;
  });
  expect(rows.filter((row) => !list.includes(row))).toEqual([]);
});

describeInBrowser("in a browser", (browser) => {
  let served: Served;
  const foreign: string[] = [];
  beforeAll(async () => {
    served = await serveSite(0);
    browser.context.on("request", (request) => {
      const { url } = request as { url: () => string };
      const { origin, protocol } = new URL(url.call(request));
      if (protocol.startsWith("http") && origin !== served.url) foreign.push(origin);
    });
  });
  afterAll(() => served.close());

  const open = (path: string): Promise<Page> => browser.open(`${served.url}${path}`);

  test("from the first page a reader comes to a guide, and on to the next", async () => {
    const page = await open("/");
    await page.getByRole("link", { name: "What it promises" }).last().click();
    await page.getByRole("heading", { level: 1, name: "What Rheo promises" }).waitFor();
    await page.getByRole("complementary").getByRole("link", { name: "Architecture" }).click();
    await page.getByRole("heading", { level: 1, name: "Architecture" }).waitFor();
    await page.getByRole("link", { name: /^Next/ }).click();
    await expect.poll(() => new URL(page.url()).pathname).not.toBe("/architecture.html");
  });

  test("a word is found, and leads to its place on the page", async () => {
    const page = await open("/readme.html");
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill("fencing token");
    await page.getByRole("option").first().click();
    await expect.poll(() => new URL(page.url()).hash).not.toBe("");
  });

  test("a name in code style leads to its place in the API reference", async () => {
    const page = await open("/migrating/from-kafka.html");
    await page.getByRole("link", { name: "explainLag", exact: true }).first().click();
    await expect.poll(() => page.url()).toMatch(/\/api\/@rheo\/core\/classes\/Rheo\.html#explainlag$/);
    await page.getByRole("heading", { name: "explainLag()" }).waitFor();
  });

  test("pages are readable by light, by dark and on a phone, without a fault of accessibility", async () => {
    const page = await open("/");
    const found: Record<string, unknown> = {};
    for (const path of ["/", "/semantics.html", "/architecture.html", "/migrating/from-bullmq.html", "/api/@rheo/core/"]) {
      await page.setViewportSize({ width: 1280, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.goto(`${served.url}${path}`);
        await page.getByRole("main").waitFor();
        found[`${path} ${colorScheme}`] = await faultsByLook(page);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      found[`${path} phone`] = (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) ? ["sticks out"] : [];
    }
    expect(Object.entries(found).filter(([, faults]) => (faults as unknown[]).length > 0)).toEqual([]);
  });

  test("pictures follow the reader's choice of light and dark", async () => {
    const page = await open("/architecture.html");
    const scheme = (): Promise<unknown> => page.evaluate("getComputedStyle(document.querySelector('main img')).colorScheme");
    expect(await scheme()).toBe("light");
    await page.getByRole("switch").first().click();
    expect(await scheme()).toBe("dark");
  });

  test("nothing is asked of another origin", () => {
    expect(foreign).toEqual([]);
  });
});

const faultsByLook = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe);
  const faults = await page.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))",
  );
  return faults as string[]; // as written above
};
