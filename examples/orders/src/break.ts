/**
 * Places orders while workers are killed at random, and counts afterwards: every order has one invoice, numbers have no gaps, every order
 * has one mail. `npm run break -- 5000` places five thousand. Ends with 1 if it is not so.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase } from "./database.ts";
import { mailService } from "./mail-service.ts";
import { orders } from "./orders.ts";
import { placeOrder } from "./place-order.ts";
import { type Report, report } from "./report.ts";
import { openShop } from "./shop.ts";
import { WorkerProcesses } from "./worker-processes.ts";

const COUNT = Number(process.argv[2] ?? 500);
/** Between two kills at most. Only workers that work are killed: to start one takes longer than that. */
const KILL_WITHIN_MS = 300;
const MIN_KILLS = 10;

if (!Number.isSafeInteger(COUNT) || COUNT < 1) throw new TypeError("Give how many orders to place, such as 500.");

const breakIt = async (url: string): Promise<Report & { readonly kills: number }> => {
  await using shop = await openShop(url);
  await using mails = mailService(shop.pool);
  const mailUrl = await mails.listen({ host: "127.0.0.1", port: 0 });
  await using workers = new WorkerProcesses({ DATABASE_URL: url, MAIL_URL: `${mailUrl}/mails` });
  for (const name of ["billing", "billing", "mailing"] as const) workers.start(name);

  const placed = new AbortController();
  const killing = killAtRandom(workers, placed.signal);
  for (let n = 0; n < COUNT; n++) {
    const customer = `customer-${n % 17}@example.org`;
    await placeOrder(shop, { id: randomUUID(), customer, country: ["DE", "FR", "NL"][n % 3] ?? "DE", netCents: 100 + n });
  }
  placed.abort();
  await killing;
  console.log(`${COUNT} orders placed, ${workers.kills} workers killed; the last of them are taken over …`);
  for (const group of ["billing", "mailing"]) await shop.rheo.whenCaughtUp(orders, group);
  return { ...(await report(shop)), kills: workers.kills };
};

/** Until all orders are placed, and at least so many times that it says something. */
const killAtRandom = async (workers: WorkerProcesses, placed: AbortSignal): Promise<void> => {
  while (!placed.aborted || workers.kills < MIN_KILLS) {
    await sleep(Math.random() * KILL_WITHIN_MS);
    workers.killOne(Math.random());
  }
};

const database = await openDatabase();
try {
  const found = await breakIt(database.url);
  console.table(found);
  const { orders: placed, invoices, without, twice, gaps, mails, deadLetters } = found;
  const isRight = invoices === placed && mails === placed && without + twice + gaps + deadLetters === 0;
  console.log(isRight ? "every order has exactly one invoice and one mail" : "NOT AS PROMISED");
  process.exitCode = isRight ? 0 : 1;
} finally {
  await database.stop();
}
