/** The shop under crashes: real processes, a real PostgreSQL. */
import { randomUUID } from "node:crypto";
import { consume } from "@rheo/pipeline";
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { bill } from "../orders/src/bill.ts";
import { mailService } from "../orders/src/mail-service.ts";
import { type Order, orders } from "../orders/src/orders.ts";
import { placeOrder } from "../orders/src/place-order.ts";
import { openShop } from "../orders/src/shop.ts";
import { PATIENCE, Program } from "./fixtures/program.ts";
import { shownIn } from "./fixtures/shown.ts";

let server: PostgresServer;
let url: string;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
beforeEach(async () => {
  const name = `shop_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${admin.escapeIdentifier(name)}`);
  await admin.end();
  url = server.url.replace(/postgres$/, name);
});

const order = (change: Partial<Order> = {}): Order => ({
  id: randomUUID(),
  customer: "ada@example.org",
  country: "DE",
  netCents: 1_000,
  ...change,
});

test("while workers are killed at random, every order gets exactly one invoice and one mail, and numbers have no gaps", async () => {
  await using program = Program.ofExample("orders", "src/break.ts", ["200"], { DATABASE_URL: url });
  expect(await program.code, program.stderr + program.stdout).toBe(0);
  expect(program.stdout).toMatch(/200 orders placed, [1-9]\d workers killed/);
  expect(program.stdout).toMatch(shownIn("orders", "orders placed"));
  await using shop = await openShop(url);
  const { rows } = await shop.pool.query(
    "SELECT count(DISTINCT order_id)::int AS orders, count(*)::int AS invoices, max(number)::int AS last FROM shop.invoices",
  );
  expect(rows).toEqual([{ orders: 200, invoices: 200, last: 200 }]);
});

test("an order that is not committed has no event, and one whose event is refused has no row", async () => {
  await using shop = await openShop(url);
  const refused = order();
  await shop.rheo.append(orders, { id: refused.id, type: "other", payload: order() });
  await expect(placeOrder(shop, refused)).rejects.toMatchObject({ code: "id_conflict" });
  expect((await shop.pool.query("SELECT FROM shop.orders")).rowCount).toBe(0);
});

test("an order that is sent twice is placed once", async () => {
  await using shop = await openShop(url);
  const sent = order();
  expect([await placeOrder(shop, sent), await placeOrder(shop, sent)]).toEqual([true, false]);
  expect(await shop.rheo.query(orders)).toHaveLength(1);
});

test("a worker whose delivery is no longer its own leaves no invoice behind", async () => {
  await using shop = await openShop(url);
  await placeOrder(shop, order());
  for await (const lease of consume(shop.rheo, orders, "billing")) {
    await shop.rheo.resetGroup(orders, "billing", { confirm: true });
    await bill(shop, lease);
    break;
  }
  expect((await shop.pool.query("SELECT FROM shop.invoices")).rowCount).toBe(0);
  expect((await shop.rheo.lag(orders, "billing")).lag).toBe(1);
});

test("the mail service sends once for a key, and refuses who comes with a lower token than another before", async () => {
  await using shop = await openShop(url);
  await using service = mailService(shop.pool);
  const send = async (token: number): Promise<number> => {
    const headers = { "idempotency-key": "order-1", "fencing-token": String(token) };
    return (await service.inject({ method: "POST", url: "/mails", headers, payload: { recipient: "ada@example.org" } }))
      .statusCode;
  };
  expect([await send(2), await send(2), await send(3), await send(2)]).toEqual([201, 200, 200, 409]);
  expect((await shop.pool.query("SELECT FROM shop.mails")).rowCount).toBe(1);
});

test("the shop takes orders over HTTP; one that cannot be billed is a dead letter, and is billed when it is redriven", async () => {
  await using program = Program.ofExample("orders", "src/start.ts", [], { DATABASE_URL: url, PORT: "0" });
  const address = await program.prints(/orders +(http\S+)/);
  const post = async (body: unknown): Promise<number> =>
    (await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }))
      .status;
  const swiss = order({ country: "CH" });
  expect([await post(swiss), await post(swiss), await post({ ...order(), country: "'; DROP TABLE" })]).toEqual([201, 200, 400]);

  await using shop = await openShop(url);
  await expect.poll(() => shop.rheo.deadLetters(orders, "billing"), PATIENCE).toHaveLength(1);
  expect((await shop.rheo.deadLetters(orders, "billing"))[0]).toMatchObject({ eventId: swiss.id, reason: "no VAT rate for CH" });
  await shop.pool.query("INSERT INTO shop.vat_rates VALUES ('CH', 8)");
  expect(await shop.rheo.redrive(orders, "billing", { all: true })).toEqual({ reopened: 1 });
  await expect
    .poll(async () => (await shop.pool.query("SELECT order_id, gross_cents FROM shop.invoices")).rows, PATIENCE)
    .toEqual([{ order_id: swiss.id, gross_cents: "1080" }]);

  program.signal("SIGTERM");
  expect(await program.code, program.stderr).toBe(0);
});

test("without DATABASE_URL the shop brings a PostgreSQL of its own, and ends it when it ends", async () => {
  await using program = Program.ofExample("orders", "src/start.ts", [], { PORT: "0" });
  const own = await program.prints(/database +(\S+)/);
  await program.prints(/orders +(http\S+)/);
  program.signal("SIGINT");
  expect(await program.code, program.stderr).toBe(0);
  await expect(new pg.Client({ connectionString: own }).connect()).rejects.toThrow("ECONNREFUSED");
});
