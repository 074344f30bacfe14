/** The same dashboard in servers of others. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createDashboard, serveDashboard } from "@rheo/dashboard";
import { Hono } from "hono";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { buildPages } from "./fixtures/pages.ts";
import { openScene } from "./fixtures/scene.ts";

beforeAll(buildPages);

const listen = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** The page, one of its files, and a view, below a path. */
const expectDashboard = async (base: string): Promise<void> => {
  const page = await fetch(base);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const [, script = ""] = /src="\.\/(assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
  const file = await fetch(new URL(script, base));
  expect([file.status, file.headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
  expect(await (await fetch(new URL("api/about", base))).json()).toMatchObject({ instance: "scene" });
};

test("by itself", async () => {
  const { rheo } = await openScene();
  const served = await serveDashboard({ rheo, port: 0 });
  expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  await expectDashboard(served.url);
  await served.close();
  await served.close();
  await expect(fetch(served.url)).rejects.toThrow();
  await rheo.ping();
});

test("below a path of node:http", async () => {
  const dashboard = createDashboard({ rheo: (await openScene()).rheo, basePath: "/ops/rheo" });
  const base = await listen(dashboard.node);
  await expectDashboard(`${base}/ops/rheo/`);
  expect((await fetch(`${base}/ops/rheo`)).url).toBe(`${base}/ops/rheo/`);
  expect((await fetch(`${base}/api/about`)).status).toBe(404);
});

test("below node:http, without a token, who comes from another machine is refused, whatever name it asks for", async () => {
  const { rheo } = await openScene();
  for (const [address, token, status] of [
    ["10.0.0.9", undefined, 403],
    ["::ffff:10.0.0.9", undefined, 403],
    ["::ffff:127.0.0.1", undefined, 200],
    ["10.0.0.9", "a-secret-of-some-length", 401],
  ] as const) {
    const dashboard = createDashboard({ rheo, ...(token === undefined ? {} : { token }) });
    const base = await listen((incoming, outgoing) => {
      Object.defineProperty(incoming.socket, "remoteAddress", { value: address });
      dashboard.node(incoming, outgoing);
    });
    expect((await fetch(`${base}/api/about`)).status, address).toBe(status);
  }
});

test("in a framework that cuts the mount path off", async () => {
  const dashboard = createDashboard({ rheo: (await openScene()).rheo, basePath: "/rheo" });
  const base = await listen((incoming: IncomingMessage & { originalUrl?: string }, outgoing) => {
    incoming.originalUrl = incoming.url ?? "";
    incoming.url = incoming.originalUrl.replace(/^\/rheo/, "");
    dashboard.node(incoming, outgoing);
  });
  await expectDashboard(`${base}/rheo/`);
});

test("in Hono", async () => {
  const dashboard = createDashboard({ rheo: (await openScene()).rheo, basePath: "/rheo" });
  const app = new Hono().all("/rheo/*", (context) => dashboard.fetch(context.req.raw));
  const response = await app.fetch(new Request("http://localhost/rheo/api/about"));
  expect(await response.json()).toMatchObject({ instance: "scene" });
});

test("a port that is taken is told as such", async () => {
  const { rheo } = await openScene();
  const first = await serveDashboard({ rheo, port: 0 });
  onTestFinished(() => first.close());
  const port = Number(new URL(first.url).port);
  await expect(serveDashboard({ rheo, port })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(`port ${port}`),
  });
});

test("closing ends the connections of those who watch", async () => {
  const { rheo } = await openScene();
  const served = await serveDashboard({ rheo, port: 0 });
  const watching = await fetch(`${served.url}api/live?view=overview`);
  await watching.body?.getReader().read();
  await served.close();
  await expect(fetch(served.url)).rejects.toThrow();
});
