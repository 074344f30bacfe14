import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { fixturePath, RheoCommand } from "./rheo-command.ts";
import { Running, run } from "./run.ts";
import { openScene } from "./scene.ts";

describe("rheo dashboard", () => {
  test("serves the store until Ctrl-C, and says where", async () => {
    await using scene = await openScene();
    const dashboard = new Running("dashboard --port 0", { store: scene.store });
    await until(`it serves: ${dashboard.err}`, () => dashboard.out.includes("The dashboard is at http://127.0.0.1:"));
    const [url = ""] = /http:[^ ]+/.exec(dashboard.out) ?? [];
    expect((await fetch(url)).status).toBe(200);
    dashboard.signal("SIGINT");
    expect(await dashboard.code).toBe(130);
    await expect(fetch(url)).rejects.toThrow();
  });

  test("asks for a token where one is set", async () => {
    await using scene = await openScene();
    const dashboard = new Running("dashboard --port 0", {
      store: scene.store,
      env: { RHEO_DASHBOARD_TOKEN: "a-token-of-some-length" },
    });
    await until(`it serves: ${dashboard.err}`, () => dashboard.out.includes("http:"));
    const [url = ""] = /http:[^ ]+/.exec(dashboard.out) ?? [];
    expect((await fetch(new URL("api/overview", url))).status).toBe(401);
    dashboard.signal("SIGTERM");
    expect(await dashboard.code).toBe(143);
  });

  test("other hosts than this one take a token", async () => {
    await using scene = await openScene();
    const { code, err } = await run("dashboard --port 0 --host 0.0.0.0", scene);
    expect([code, err]).toEqual([2, expect.stringMatching(/token/)]);
  });

  test("on a port that is taken says so", async () => {
    await using scene = await openScene();
    const dashboard = new Running("dashboard --port 0", { store: scene.store });
    await until(`it serves: ${dashboard.err}`, () => dashboard.out.includes("http:"));
    const [, port = ""] = /:(\d+)\//.exec(dashboard.out) ?? [];
    const { code, err } = await run(`dashboard --port ${port}`, scene);
    expect([code, err]).toEqual([1, expect.stringMatching(new RegExp(`port ${port}: .*Choose another port`))]);
    dashboard.signal("SIGINT");
    await dashboard.code;
  });

  test("says what to install when its package is not there", async () => {
    await using scene = await openScene();
    await using rheo = new RheoCommand(["dashboard"], {
      cwd: tmpdir(),
      env: { RHEO_STORE: scene.store, NODE_OPTIONS: `--import=${fixturePath("without-dashboard.mjs")}` },
    });
    expect([await rheo.code, rheo.stderr]).toEqual([
      2,
      expect.stringMatching(/@rheo\/dashboard is not installed. Run: npm install @rheo\/dashboard/),
    ]);
  });
});
