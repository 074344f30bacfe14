/** The playground as people use it: real processes, one SQLite file, a real browser. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { describeInBrowser } from "../../dashboard/test/fixtures/browser.ts";
import { Running } from "./fixtures/running.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** For what takes leases to run out, on a busy machine, in ms. */
const PATIENCE = { timeout: 40_000 };
/** What a page complains of when its playground ends before it. */
const LEAVING = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;

describeInBrowser("in a browser", (browser) => {
  /** The page of a playground of its own, with members that run. */
  const open = async (members: number, hash = ""): Promise<Page> => {
    const running = new Running();
    onTestFinished(() => running[Symbol.asyncDispose]());
    const page = await browser.open(`${await running.url()}${hash}`, LEAVING);
    for (let left = members; left > 0; left -= 1) await click(page, "Start a member");
    await expect.poll(() => page.locator('[data-state="running"]').count(), PATIENCE).toBe(members);
    return page;
  };

  test("the tour reaches its end, with a check mark at all that was expected", async () => {
    const page = await open(0, "#tour");
    await click(page, "Next step");
    await page.getByText("The log of partition 0 holds 0@1, 0@2, 0@3").waitFor();
    expect(await page.locator("#steps > li.ok").count()).toBe(1);
    await click(page, "Run to the end");
    await page.getByText("All 10 steps were as expected.").waitFor();
    expect(await page.getByText("Refused: stale_lease (reclaimed).", { exact: true }).count()).toBe(1);
    expect(await page.getByText("✔").count()).toBeGreaterThan(30);
    expect(await page.getByText("✘").count()).toBe(0);
    expect(await faultsByLook(page)).toEqual([]);
    await click(page, "Start over");
    await expect.poll(() => page.locator("#steps > li.ok").count()).toBe(0);
  });

  test("a killed member's events are acked by its sibling: in flight and lag end at 0", async () => {
    const page = await open(2);
    await page.getByLabel("Slow means, ms").fill("30000");
    await page.getByLabel("Handlers of member-1").selectOption("slow");
    await page.getByText("works slowly now: 30000 ms").waitFor();
    await click(page, "100 events");
    await page
      .locator("#members li", { hasText: "member-1" })
      .getByText(/holds [1-4]/)
      .waitFor();
    await click(page, "Kill member-1");
    await page.getByText("was ended by SIGKILL").waitFor();
    expect(Number(await number(page, "lag"))).toBeGreaterThan(0);
    await expect.poll(() => number(page, "lag"), PATIENCE).toBe("0");
    await expect.poll(() => number(page, "inflight")).toBe("0");
    expect([await number(page, "published"), await number(page, "dead"), await number(page, "members")]).toEqual([
      "100",
      "0",
      "1",
    ]);
    await page.getByText("that somebody had begun before").first().waitFor();
  });

  test("a lease by hand is taken over, and its late ack refused as stale_lease; the dashboard stands beside it", async () => {
    const page = await open(1);
    await click(page, "Take a lease");
    const dashboard = page.frameLocator("iframe");
    await dashboard.getByRole("link", { name: "billing" }).waitFor();
    await dashboard.getByRole("link", { name: "Supervision" }).click();
    await dashboard.getByText("member-1").first().waitFor();
    await page.locator("#hand", { hasText: "the ack was refused, stale_lease (reclaimed)" }).waitFor(PATIENCE);
    await expect.poll(() => number(page, "lag"), PATIENCE).toBe("0");
    expect(await faultsByLook(page)).toEqual([]);
  });
});

const click = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();

const number = (page: Page, name: string): Promise<string | null> => page.locator(`#number-${name}`).textContent();

/** What axe finds, and whether something sticks out, by light, by dark, and on a phone. */
const faultsByLook = async (page: Page): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const look of ["light", "dark", "phone"] as const) {
    await page.emulateMedia({ colorScheme: look === "dark" ? "dark" : "light" });
    await page.setViewportSize(look === "phone" ? { width: 390, height: 844 } : { width: 1280, height: 900 });
    await page.evaluate(axe); // the page allows no script of others, so it comes by the debugger
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>("axe.run()");
    found.push(
      ...violations.map(({ id, nodes }) => `${look}: ${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`),
    );
    if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) found.push(`${look}: something sticks out`);
  }
  return found;
};
