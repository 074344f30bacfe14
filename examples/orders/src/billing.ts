/** A billing worker: one process of any number. Ends in good order on SIGTERM, and when its parent is gone. */
import { consume } from "@rheo/pipeline";
import { bill } from "./bill.ts";
import { orders } from "./orders.ts";
import { openShop } from "./shop.ts";
import { environment, untilTold } from "./worker.ts";

const signal = untilTold();
await using shop = await openShop(environment("DATABASE_URL"));
process.send?.("working");
for await (const lease of consume(shop.rheo, orders, "billing", { maxDemand: 5, signal })) await bill(shop, lease);
