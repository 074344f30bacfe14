/** Whatever is stored, and wherever it is shown, it is text: it runs nothing, loads nothing, hides nothing. */
import { Rheo, reject, retry } from "@rheo/core";
import { type ServedDashboard, serveDashboard } from "@rheo/dashboard";
import { memory } from "@rheo/memory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeInBrowser } from "./fixtures/browser.ts";

const HOSTILE = [
  "<script>window.hit=1</script>",
  "<img src=x onerror=window.hit=1>",
  "<svg/onload=window.hit=1>",
  "\"'><iframe srcdoc='<script>parent.hit=1</script>'>",
  "</title></textarea></style><script>window.hit=1</script>",
  "javascript:window.hit=1//",
  "data:text/html,<script>window.hit=1</script>",
  "{{constructor.constructor('window.hit=1')()}}$" + "{window.hit=1}",
  '"><a href="http://127.0.0.1:1/stolen">x</a><link rel=stylesheet href=//127.0.0.1:1/>',
  "x' onmouseover='window.hit=1' style='position:fixed;inset:0",
  "../../../etc/passwd?a=b&c=d#e%00%2f%",
  "\u202Egnp.exe \u200B\u2066hidden\u2069 \u001b[31mred\r\nSet-Cookie: a=b",
  "__proto__",
];

describeInBrowser("hostile content", (browser) => {
  let rheo: Rheo;
  let served: ServedDashboard;
  beforeAll(async () => {
    rheo = await Rheo.open({ backend: memory() });
    await rheo.createStream("orders");
    await rheo.createGroup("orders", "billing", {
      filter: { or: [{ "payload.text": { ne: HOSTILE[0] ?? "" } }, { type: { exists: true } }] },
    });
    for (const text of HOSTILE)
      await rheo.append("orders", {
        id: text,
        type: text,
        key: text,
        metadata: { [text]: text, correlationId: text },
        payload: { [text]: text, text, list: [text] },
      });
    for (const text of HOSTILE) {
      const [lease] = await rheo.fetch("orders", "billing", { limit: 1, consumerId: "c" });
      if (lease === undefined) throw new TypeError("There is one for each text.");
      const error = Object.assign(new Error(text), { name: text, stack: text });
      await rheo.settle([{ lease, outcome: text === HOSTILE[1] ? retry(error, { delayMs: 600_000 }) : reject(error) }]);
    }
    const child = (id: string): object => ({
      id,
      kind: id,
      state: id,
      restarts: 1,
      lastError: new Error(id),
      details: { [id]: id },
      children: [],
    });
    served = await serveDashboard({
      rheo,
      port: 0,
      app: { state: HOSTILE[1] ?? "", children: () => HOSTILE.map(child) as never },
    });
  });
  afterAll(async () => {
    await served.close();
    await rheo.close();
  });

  const places = (): string[] => {
    const ids = HOSTILE.map((text) => encodeURIComponent(text.toWellFormed()));
    return [
      "",
      `?search=${ids[1]}&sort=${ids[0]}`,
      "streams/orders",
      "streams/orders/events",
      `streams/orders/events?type=${ids[1]}&where=${ids[0]}`,
      "streams/orders/tail",
      "streams/orders/groups/billing",
      "streams/orders/groups/billing/dead-letters",
      "tree",
      ...ids.map((id) => `streams/orders/events/${id}`),
      ...ids.map((id) => `streams/orders/groups/billing/dead-letters/${id}`),
      ...ids.map((id) => `streams/${id}`),
      ...ids.map((id) => `${id}/${id}`),
    ];
  };

  test("runs nothing and loads nothing on any page", async () => {
    const foreign: string[] = [];
    browser.context.on("request", (request) => void (request.url().startsWith(served.url) || foreign.push(request.url())));
    const page = await browser.open(served.url, /status of 40[04]/); // what is asked for wrongly is refused
    for (const place of places()) {
      await page.goto(`${served.url}#/${place}`);
      await page.locator("main h1").waitFor();
      await page.locator("main table, main .trouble, main .empty, main .tree, main .facts").first().waitFor();
      for (const button of await page.getByRole("button", { name: "Look for causes" }).all()) {
        await button.click();
        await page.locator(".lineage, .empty").last().waitFor();
      }
      const found = await page.evaluate<unknown>(`[
        window.hit,
        document.querySelectorAll("script:not([src]), iframe, img, object, embed, base, form[action], [onerror], [onload], [onmouseover], main link, main style").length,
        [...document.querySelectorAll("a")].filter((link) => link.origin !== location.origin || link.protocol !== "http:").length,
        document.title.endsWith(" · Rheo"),
      ]`);
      expect(found, place).toEqual([undefined, 0, 0, true]);
    }
    expect(foreign).toEqual([]);
  });

  test("is shown as it is, and what cannot be seen is written out", async () => {
    const page = await browser.open(`${served.url}#/streams/orders/events`);
    for (const text of HOSTILE.slice(0, 10)) await page.getByRole("cell", { name: text, exact: true }).first().waitFor();
    const shown = await page.locator("tbody").textContent();
    expect(shown).toContain("\\u{202e}gnp.exe \\u{200b}\\u{2066}hidden\\u{2069} \\u{1b}[31mred\\u{d}\\u{a}Set-Cookie: a=b");
    for (const hidden of ["\u202e", "\u2066", "\u001b"]) expect(shown).not.toContain(hidden);
  });

  test("comes from the server as data that nothing else can be taken for", async () => {
    const response = await fetch(`${served.url}api/search?stream=orders`);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const { events } = (await response.json()) as { readonly events: readonly { readonly id: string }[] };
    expect(events.map(({ id }) => id).sort()).toEqual([...HOSTILE].sort());
    const live = await fetch(`${served.url}api/live?view=search&stream=orders`);
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("event: data")) text += (await reader?.read())?.value ?? "";
    await reader?.cancel();
    expect(text.split("\n").filter((line) => !/^(event: |data: |retry: |$)/.test(line))).toEqual([]);
  });
});
