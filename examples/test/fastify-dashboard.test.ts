/** The server as it runs: a process of its own on SQLite, asked over HTTP, killed, drained, and looked at in a browser. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { freePort, startPostgres } from "@rheo/testing/servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { describeInBrowser } from "../../apps/dashboard/test/fixtures/browser.ts";
import { buildPages } from "../../apps/dashboard/test/fixtures/pages.ts";
import { PATIENCE, Program } from "./fixtures/program.ts";

let store: string;

beforeEach(async () => {
  await buildPages();
  const folder = await mkdtemp(join(tmpdir(), "rheo-fastify-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  store = `sqlite:${join(folder, "orders.db")}`;
});

interface Server {
  readonly program: Program;
  readonly url: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(order: unknown, headers?: Record<string, string>): Promise<Response>;
}

const serve = async (env: Readonly<Record<string, string>> = {}): Promise<Server> => {
  const port = await freePort();
  const program = Program.ofExample("fastify-dashboard", "src/main.ts", [], { PORT: String(port), RHEO_STORE: store, ...env });
  onTestFinished(() => program[Symbol.asyncDispose]());
  const url = await program.prints(/Server listening at (http:\S+?)"/);
  return {
    program,
    url,
    get: (path, headers = {}) => fetch(`${url}${path}`, { headers }),
    post: (order, headers = {}) =>
      fetch(`${url}/orders`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(order),
      }),
  };
};

const order = (quantity = 2): object => ({ customer: "ada", items: [{ product: "<b>tea</b>", quantity, priceCents: 150 }] });

const stateOf = async (server: Server, id: string): Promise<unknown> =>
  ((await (await server.get(`/orders/${id}`)).json()) as { groups: { state: string }[] }).groups[0]?.state;

describe("orders", () => {
  test("one is kept, worked on in a thread, and told about", async () => {
    const server = await serve();
    const response = await server.post(order(), { "idempotency-key": "order-1" });
    expect([response.status, response.headers.get("location")]).toEqual([202, "/orders/order-1"]);
    await expect.poll(() => stateOf(server, "order-1"), PATIENCE).toBe("acked");
    expect((await server.get("/orders/none")).status).toBe(404);
  });

  test("one that is sent again is kept once; another under its key, and what is no order, is refused", async () => {
    const server = await serve();
    const key = { "idempotency-key": "order-1" };
    const answers = [
      await server.post(order(), key),
      await server.post(order(), key),
      await server.post(order(3), key),
      await server.post({ customer: "ada" }),
      await server.post(order(), { "idempotency-key": "../x" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 409, 400, 400]);
    expect(await answers[2]?.text()).not.toContain("partition");
    await using rheo = await Rheo.open(store);
    expect(await rheo.query("orders")).toHaveLength(1);
  });

  test("what a killed server had taken is worked on by the next", async () => {
    const first = await serve();
    await using rheo = await Rheo.open(store);
    await rheo.updateGroup("orders", "receipts", { leaseMs: 2_000 });
    for (let n = 1; n <= 20; n++) await first.post(order(), { "idempotency-key": `order-${n}` });
    first.program.signal("SIGKILL");
    await first.program.code;
    await serve();
    await rheo.whenCaughtUp("orders", "receipts");
    expect(await rheo.groupInfo("orders", "receipts")).toMatchObject({ lag: 0, deadLetters: 0 });
  });
});

describe("operations", () => {
  test("it is ready while it consumes, and says what it consumes", async () => {
    const server = await serve();
    const response = await server.get("/health/ready");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ store: "up", consumers: [{ id: "pool" }, { id: "orders/receipts" }] });
  });

  test("metrics count what happened", async () => {
    const server = await serve();
    await server.post(order(0), { "idempotency-key": "order-1" });
    await expect.poll(() => stateOf(server, "order-1"), PATIENCE).toBe("dead");
    const text = await (await server.get("/metrics")).text();
    expect(text).toContain('rheo_dead_letters_created_total{stream="orders",group="receipts"} 1');
  });

  test("while the store is away it is not ready and refuses orders, and it heals by itself", async () => {
    const database = await startPostgres();
    onTestFinished(() => database.stop());
    const server = await serve({ RHEO_STORE: database.url });
    const statuses = async (): Promise<number[]> => {
      const answers = await Promise.all([server.get("/health/ready"), server.get("/health/live"), server.post(order())]);
      return answers.map(({ status }) => status);
    };
    await database.kill();
    await expect.poll(statuses, PATIENCE).toEqual([503, 200, 503]);
    await database.restart();
    await expect.poll(statuses, PATIENCE).toEqual([200, 200, 202]);
  });

  test("SIGTERM drains and ends with 0, though a dashboard watches", async () => {
    const server = await serve();
    const watching = await server.get("/rheo/api/live?view=overview");
    expect(watching.headers.get("content-type")).toBe("text/event-stream");
    for (let n = 1; n <= 50; n++) await server.post(order());
    server.program.signal("SIGTERM");
    expect(await server.program.code, server.program.stderr).toBe(0);
    await using rheo = await Rheo.open(store);
    expect(await rheo.leases("orders", "receipts")).toEqual([]);
  });

  test("with a token, the dashboard shows nothing to who does not give it", async () => {
    const token = "0123456789abcdef0123456789abcdef";
    const server = await serve({ DASHBOARD_TOKEN: token });
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await server.get("/rheo/api/overview", headers)).status;
    expect([await ask({}), await ask({ authorization: `Bearer ${token}` })]).toEqual([401, 200]);
  });
});

describeInBrowser("in a browser", (browser) => {
  test("the dashboard shows the group of the server, its dead letter and its threads", async () => {
    const server = await serve();
    await server.post(order(0), { "idempotency-key": "order-1" });
    await expect.poll(() => stateOf(server, "order-1"), PATIENCE).toBe("dead");
    const page = await browser.open(`${server.url}/rheo`);
    await page.getByRole("link", { name: "1 dead letters of receipts" }).click();
    await page.getByText("nothing was ordered").first().waitFor();
    await page.getByRole("link", { name: "Supervision" }).click();
    await page.getByText("orders/receipts").first().waitFor();
    await page.close();
  });
});
