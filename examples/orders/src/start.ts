/** The whole shop, until Ctrl-C: HTTP, two billing workers, one for mails, and what each of them needs. */
import { once } from "node:events";
import { openDatabase } from "./database.ts";
import { http } from "./http.ts";
import { mailService } from "./mail-service.ts";
import { openShop } from "./shop.ts";
import { untilTold } from "./worker.ts";
import { WorkerProcesses } from "./worker-processes.ts";

const run = async (url: string, signal: AbortSignal): Promise<void> => {
  await using shop = await openShop(url);
  await using mails = mailService(shop.pool);
  await using server = http(shop);
  const mailUrl = await mails.listen({ host: "127.0.0.1", port: 0 });
  await using workers = new WorkerProcesses({ DATABASE_URL: url, MAIL_URL: `${mailUrl}/mails` });
  for (const name of ["billing", "billing", "mailing"] as const) workers.start(name);
  const address = await server.listen({ host: "127.0.0.1", port: Number(process.env.PORT ?? 3000) });
  console.log(`database  ${url}`);
  console.log(`orders    ${address}/orders`);
  if (!signal.aborted) await once(signal, "abort");
};

const signal = untilTold();
const database = await openDatabase();
try {
  await run(database.url, signal);
} finally {
  await database.stop();
}
