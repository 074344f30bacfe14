/** Every page as people see it, and as those who do not see it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createDashboard, type ServedDashboard, serveDashboard } from "@rheo/dashboard";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { describeInBrowser } from "./fixtures/browser.ts";
import { openScene, type Scene } from "./fixtures/scene.ts";

const TOKEN = "a-secret-of-some-length";

describeInBrowser("in a browser", (browser) => {
  let scene: Scene;
  let served: ServedDashboard;
  beforeAll(async () => {
    scene = await openScene();
    const thread = {
      id: "thread-1",
      kind: "thread",
      state: "running",
      restarts: 0,
      lastError: null,
      details: { busy: false },
      children: [],
    };
    const pool = { ...thread, id: "pool", kind: "pool", children: [thread] };
    const risk = { ...thread, id: "market-events/risk", kind: "group", lastError: new Error("it broke once"), restarts: 1 };
    served = await serveDashboard({ rheo: scene.rheo, port: 0, app: { state: "running", children: () => [pool, risk] } });
  });
  afterAll(async () => {
    await served.close();
    await scene.rheo.close();
  });

  const at = (place: string): string => `${served.url}#/${place}`;
  const places = (): readonly (readonly [name: string, place: string, shows: string])[] => [
    ["overview", "", "no members"],
    ["stream", "streams/market-events", "High watermark"],
    ["group", "streams/market-events/groups/risk", "What holds the frontier"],
    ["dead letters", "streams/market-events/groups/risk/dead-letters", "no price"],
    ["dead letter", `streams/market-events/groups/risk/dead-letters/${scene.dead.id}`, "Where it was thrown"],
    ["events", "streams/market-events/events", "13 of 13 looked through"],
    ["event", `streams/orders/events/${scene.cause.id}`, "Where every group stands with it"],
    ["tail", "streams/orders/tail", "came since somebody watches"],
    ["supervision", "tree", "it broke once"],
    ["nothing there", "streams/empty/tail", "Waiting for the first event"],
    ["a stream that is not there", "streams/other", "does not exist"],
    ["no page", "nowhere", "leads nowhere"],
  ];

  test("every page shows what it is for, by light, by dark, and on a phone, without a fault of accessibility", async () => {
    const page = await browser.open(served.url);
    const found: Record<string, string[]> = {};
    for (const [name, place, shows] of places()) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(at(place));
      await page.getByText(shows).first().waitFor();
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        found[`${name}, ${colorScheme}`] = await faults(page);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      const sticksOut = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      found[`${name}, phone`] = sticksOut ? ["something sticks out"] : [];
    }
    expect(Object.entries(found).filter(([, faulty]) => faulty.length > 0)).toEqual([]);
    expect(Object.keys(found)).toHaveLength(36);
  });

  test("the way from lag to the reason a letter is dead is a few links", async () => {
    const page = await browser.open(served.url);
    await page.getByRole("link", { name: "risk", exact: true }).click();
    await page.getByRole("heading", { name: "risk" }).waitFor();
    await page.getByRole("img", { name: /^Partition \d: settled up to 0 of 13, lag 13, 2 held$/ }).waitFor();
    await page.getByRole("cell", { name: "1, 3", exact: true }).waitFor();
    await page.getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("link", { name: scene.dead.id }).click();
    await page.getByText("Where it was thrown").click();
    await page.getByText("Error: no price").first().waitFor();
    await page.getByText(`{ eventIds: ["${scene.dead.id}"] }`).waitFor();
  });

  test("lineage is looked for on demand, and leads to other streams", async () => {
    const page = await browser.open(at(`streams/orders/events/${scene.cause.id}`));
    await page.getByRole("button", { name: "Look for causes and effects" }).click();
    await page.getByRole("link", { name: "shipped" }).click();
    await page.getByText("market-events").first().waitFor();
    expect(await page.title()).toMatch(/ · Rheo$/);
  });

  test("a condition on the content finds events, and stays in the address", async () => {
    const page = await browser.open(at("streams/market-events/events"));
    await page.getByRole("button", { name: "+ Condition" }).click();
    await page.getByLabel("Path 1").fill("payload.price");
    await page.getByLabel("Comparison 1").selectOption("gte");
    await page.getByLabel("Value 1").fill("10");
    await page.getByRole("button", { name: "Find" }).click();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
    await page.reload();
    await expect.poll(() => page.getByLabel("Value 1").inputValue()).toBe("10");
    await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
  });

  test("rows are walked through, and the search found, by key", async () => {
    const page = await browser.open(served.url);
    await page.getByRole("link", { name: "audit" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("audit");
    await page.keyboard.press("/");
    await page.keyboard.type("mail");
    await expect.poll(() => page.getByRole("link", { name: "audit" }).count()).toBe(0);
    expect(new URL(page.url()).hash).toBe("#/?search=mail");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Skip to the content" }).focus();
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
  });

  test("sorting by a heading is told to those who do not see it", async () => {
    const page = await browser.open(served.url);
    await page.getByRole("link", { name: "Dead", exact: true }).click();
    await page.locator('th[aria-sort="descending"]', { hasText: "Dead" }).waitFor();
    await expect.poll(() => page.locator("tbody").first().locator("th a").first().textContent()).toBe("risk");
  });

  test("figures move by themselves, over one connection", async () => {
    const own = await openScene();
    onTestFinished(() => own.rheo.close());
    const dashboard = await serveDashboard({ rheo: own.rheo, port: 0 });
    onTestFinished(() => dashboard.close());
    let connections = 0;
    browser.context.on("request", (request) => {
      if (request.url().includes("/api/live")) connections += 1;
    });
    const page = await browser.open(`${dashboard.url}#/streams/orders/tail`);
    await page.getByText("requested").waitFor();
    await own.rheo.append("orders", { type: "only_now", payload: 1 });
    await page.getByText("only_now").waitFor();
    await page.getByRole("button", { name: "Hold" }).click();
    await own.rheo.append("orders", { type: "while_held", payload: 1 });
    await own.rheo.append("orders", { type: "after_it", payload: 1 });
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("while_held").waitFor();
    expect(connections).toBe(1);
  });

  test("a tab that nobody looks at holds no connection, and is up to date when looked at again", async () => {
    const dashboard = createDashboard({ rheo: scene.rheo });
    const server = createServer(dashboard.node);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    let watching = 0;
    server.on("request", ({ url = "" }, response) => {
      if (!url.startsWith("/api/live")) return;
      watching += 1;
      response.on("close", () => {
        watching -= 1;
      });
    });
    const page = await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/#/streams/orders/tail`);
    await page.getByText("requested").waitFor();
    expect(watching).toBe(1);
    await page.evaluate(setHidden(true));
    await expect.poll(() => watching).toBe(0);
    await scene.rheo.append("orders", { type: "unseen", payload: 1 });
    await page.evaluate(setHidden(false));
    await page.getByText("unseen").waitFor();
    await dashboard.close();
  });

  test("a server that went away and came back is found again, and what was shown stays meanwhile", async () => {
    const own = await openScene();
    onTestFinished(() => own.rheo.close());
    const first = await serveDashboard({ rheo: own.rheo, port: 0 });
    const page = await browser.open(
      `${first.url}#/streams/orders/tail`,
      /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING/,
    );
    await page.getByText("requested").waitFor();
    await first.close();
    await page.getByText("not connected, trying again").waitFor();
    expect(await page.getByText("requested").count()).toBe(1);
    await own.rheo.append("orders", { type: "meanwhile", payload: 1 });
    const second = await serveDashboard({ rheo: own.rheo, port: Number(new URL(first.url).port) });
    onTestFinished(() => second.close());
    await page.getByText("meanwhile").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
  });

  test("with a token one signs in once, and out again", async () => {
    const own = await openScene();
    onTestFinished(() => own.rheo.close());
    const locked = await serveDashboard({ rheo: own.rheo, port: 0, token: TOKEN });
    onTestFinished(() => locked.close());
    const page = await browser.open(locked.url, /status of 401/);
    await page.getByLabel("Token").fill("something else");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("That is not the token.").waitFor();
    expect(await faults(page)).toEqual([]);
    await page.getByLabel("Token").fill(TOKEN);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("no members").waitFor();
    await page.reload();
    await page.getByText("no members").waitFor();
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
  });

  test("the theme can be chosen, and is kept", async () => {
    const page = await browser.open(served.url);
    await page.getByRole("button", { name: "Theme: auto" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(18, 21, 23)");
  });
});

const setHidden = (isHidden: boolean): string =>
  `Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} }); void document.dispatchEvent(new Event("visibilitychange"));`;

/** What axe finds, with where. The page allows no script of others, so it comes by the debugger. */
const faults = async (page: Page): Promise<string[]> => {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>("axe.run()");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
};
