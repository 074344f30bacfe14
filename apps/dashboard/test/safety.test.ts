/** Who is answered, and how. */
import { RheoError } from "@rheo/core";
import { createDashboard, type DashboardOptions, serveDashboard } from "@rheo/dashboard";
import { describe, expect, onTestFinished, test } from "vitest";
import { dashboardOf, request } from "./fixtures/ask.ts";
import { openScene } from "./fixtures/scene.ts";

const TOKEN = "a-secret-of-some-length";

const open = async (options: Omit<DashboardOptions, "rheo"> = {}) => {
  const dashboard = dashboardOf({ rheo: (await openScene()).rheo, ...options });
  const status = async (
    host: string,
    path = "/api/about",
    headers: Record<string, string> = {},
    method = "GET",
  ): Promise<number> =>
    (await dashboard.fetch(new Request(`http://ignored${path}`, { method, headers: { host, ...headers } }))).status;
  return { dashboard, status };
};

describe("hosts", () => {
  test("without a token, only names of the loopback are answered", async () => {
    const { status } = await open();
    for (const host of [
      "localhost",
      "localhost:8321",
      "LOCALHOST",
      "localhost.",
      "my.localhost:1",
      "127.0.0.1:8321",
      "127.9.9.9",
      "[::1]:8321",
    ])
      expect(await status(host), host).toBe(200);
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "10.0.0.5",
      "[2001:db8::1]",
      "a@localhost",
      "localhost/x",
      "127.0.0.1:x",
      "",
    ])
      expect(await status(host), host).toBe(403);
  });

  test.each(["forwarded", "x-forwarded-for", "x-real-ip", "via"])(
    "without a token, what a proxy has passed on with %s is not answered; with one, it is",
    async (name) => {
      const passedOn = { [name]: "198.51.100.7" };
      const { status } = await open();
      expect(await status("localhost", "/api/about", passedOn)).toBe(403);
      const guarded = await open({ token: TOKEN });
      expect(await guarded.status("localhost", "/api/about", { ...passedOn, authorization: `Bearer ${TOKEN}` })).toBe(200);
    },
  );

  test("with a token, addresses and the names given are answered too", async () => {
    const { status } = await open({ token: TOKEN, hosts: ["Ops.example.org"] });
    const authorization = `Bearer ${TOKEN}`;
    for (const host of ["10.0.0.5:80", "[2001:db8::1]", "ops.example.org", "OPS.example.org:443"])
      expect(await status(host, "/api/about", { authorization }), host).toBe(200);
    expect(await status("evil.example", "/api/about", { authorization })).toBe(403);
    expect(await status("evil.example", "/")).toBe(403);
  });

  test("a host that others reach is refused without a token or authorize", async () => {
    const { rheo } = await openScene();
    await expect(serveDashboard({ rheo, host: "0.0.0.0", port: 0 })).rejects.toThrow(/host "0.0.0.0" can be reached by others/);
    expect(() => createDashboard({ rheo, hosts: ["ops.example.org"] })).toThrow(/hosts need a token or authorize/);
    const served = await serveDashboard({ rheo, host: "0.0.0.0", port: 0, token: TOKEN });
    onTestFinished(() => served.close());
    expect(served.url).toMatch(/^http:\/\/localhost:\d+\/$/);
    expect((await fetch(`${served.url}api/about`)).status).toBe(401);
  });
});

describe("methods and headers", () => {
  test.each([
    [undefined, "frame-ancestors 'none'", "DENY"],
    ["self", "frame-ancestors 'self'", "SAMEORIGIN"],
  ] as const)("with frameAncestors %s it says: %s", async (frameAncestors, policy, older) => {
    const { dashboard } = await open(frameAncestors === undefined ? {} : { frameAncestors });
    for (const path of ["/", "/api/about", "/nothing"]) {
      const { headers } = await dashboard.fetch(request(path));
      expect([headers.get("content-security-policy"), headers.get("x-frame-options")]).toEqual([
        expect.stringContaining(policy),
        older,
      ]);
    }
  });

  test("nothing but GET and HEAD is done", async () => {
    const { status } = await open();
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
      expect(await status("localhost", "/api/overview", {}, method), method).toBe(405);
    expect(await status("localhost", "/api/overview", {}, "HEAD")).toBe(200);
    expect(await status("localhost", "/api/live?view=overview", {}, "HEAD")).toBe(200);
  });

  test("every answer carries the policy, also those that refuse", async () => {
    const { dashboard } = await open({ token: TOKEN });
    for (const path of ["/", "/api/about", "/nothing", "/api/nothing"]) {
      const { headers } = await dashboard.fetch(request(path));
      expect(headers.get("content-security-policy"), path).toContain(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
      );
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
      expect(headers.get("cache-control"), path).toBe("no-store");
      expect(headers.get("access-control-allow-origin"), path).toBeNull();
    }
  });

  test("paths lead to nothing but the pages", async () => {
    const { dashboard } = await open();
    for (const path of [
      "/..%2f..%2fpackage.json",
      "/assets/..%2f..%2findex.js",
      "/%2e%2e/index.js",
      "/assets",
      "/index.html/x",
      "/__proto__",
    ])
      expect((await dashboard.fetch(request(path))).status, path).toBe(404);
  });

  test("a fault of ours is told without what it is about", async () => {
    const { rheo } = await openScene();
    const dashboard = dashboardOf({
      rheo,
      app: {
        children: () => {
          throw new Error("secret path /etc");
        },
      },
    });
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const response = await dashboard.fetch(request("/api/tree"));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("secret");
    expect((await warned).message).toContain("secret path /etc");
  });
});

describe("the token", () => {
  test("is asked for before any figure, and not for the pages", async () => {
    const { status } = await open({ token: TOKEN });
    expect(await status("localhost", "/api/overview")).toBe(401);
    expect(await status("localhost", "/api/live?view=overview")).toBe(401);
    expect(await status("localhost", "/api/overview", { authorization: `Bearer ${TOKEN}x` })).toBe(401);
    expect(await status("localhost", "/api/overview", { authorization: `Basic ${TOKEN}` })).toBe(401);
    expect(await status("localhost", "/api/overview", { authorization: `bearer ${TOKEN}` })).toBe(200);
  });

  test("shown once becomes a cookie that no script reads and no other site sends", async () => {
    const { dashboard, status } = await open({ token: TOKEN, basePath: "/rheo" });
    const session = await dashboard.fetch(request("/rheo/api/session", { authorization: `Bearer ${TOKEN}` }));
    const [given = ""] = session.headers.getSetCookie();
    expect(given).toMatch(/; Path=\/rheo\/; HttpOnly; SameSite=Strict$/);
    expect(given).not.toContain(TOKEN);
    const [cookie = ""] = given.split(";");
    expect(await status("localhost", "/rheo/api/about", { cookie })).toBe(200);
    expect(await status("localhost", "/rheo/api/about", { cookie: `${cookie}0` })).toBe(401);
    const [name = "", value = ""] = cookie.split("=");
    const later = `${Number(value.split(".")[0]) + 1}.${value.split(".")[1]}`;
    expect(await status("localhost", "/rheo/api/about", { cookie: `${name}=${later}` })).toBe(401);
  });

  test("behind TLS the cookie is for TLS alone", async () => {
    const { dashboard } = await open({ token: TOKEN });
    const session = await dashboard.fetch(
      new Request("https://localhost/api/session", { headers: { authorization: `Bearer ${TOKEN}` } }),
    );
    expect(session.headers.get("set-cookie")).toContain("; Secure");
  });

  test("a page of others cannot sign a reader out", async () => {
    const { dashboard } = await open({ token: TOKEN });
    const authorization = `Bearer ${TOKEN}`;
    expect((await dashboard.fetch(request("/api/session?end=1", { authorization }))).status).toBe(401);
    const ended = await dashboard.fetch(request("/api/session?end=1", { authorization, "x-rheo-dashboard": "1" }));
    expect(ended.headers.get("set-cookie")).toContain("Max-Age=0");
  });
});

test("a check of the caller's own decides about every request, and anything but true is no", async () => {
  const { rheo } = await openScene();
  const answers: unknown[] = [
    true,
    Promise.resolve(true),
    false,
    "yes",
    Promise.reject(new RheoError("unavailable", "Who is it?")),
  ];
  for (const [at, answer] of answers.entries()) {
    const dashboard = createDashboard({ rheo, authorize: () => answer as boolean });
    for (const path of ["/api/about", "/nothing"]) {
      const { status } = await dashboard.fetch(request(path));
      expect(status === 401 || status === 503, `${at} ${path}`).toBe(at > 1);
    }
  }
  await rheo.close();
});

test("options that are not right are refused by name", async () => {
  const { rheo } = await openScene();
  const wrong: [object, RegExp][] = [
    [{ rheo, token: "short" }, /token is a secret of 16/],
    [{ rheo, token: "with spaces in between it" }, /token is a secret of 16/],
    [{ rheo, basePath: "rheo" }, /basePath is a path/],
    [{ rheo, basePath: "/a/../b" }, /basePath is a path/],
    [{ rheo, basePath: "/<b>" }, /basePath is a path/],
    [{ rheo, hosts: ["http://x"], token: TOKEN }, /hosts are names/],
    [{ rheo, authorize: true }, /authorize is a function/],
    [{ rheo, app: {} }, /app is what supervise/],
    [{ rheo, colour: "red" }, /unknown option "colour"/],
    [{}, /rheo is missing/],
  ];
  for (const [options, message] of wrong) expect(() => createDashboard(options as DashboardOptions)).toThrow(message);
  await expect(serveDashboard({ rheo, port: 70_000 })).rejects.toThrow(/port is a whole number/);
});
