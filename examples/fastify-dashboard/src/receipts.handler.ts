/** Runs in worker threads: however long it computes, the server answers. */
import { scryptSync } from "node:crypto";
import { handler, reject } from "@rheo/runtime/handler";
import { orders } from "./orders.ts";

export default handler(
  ({ id, payload }, { logger }) => {
    const quantity = payload.items.reduce((sum, item) => sum + item.quantity, 0);
    if (quantity === 0) return reject("nothing was ordered"); // a dead letter: to try again would not help
    const totalCents = payload.items.reduce((sum, item) => sum + item.quantity * item.priceCents, 0);
    // stands for heavy work, such as to sign a PDF
    const seal = scryptSync(`${id}:${totalCents}`, "receipts", 16).toString("hex");
    logger.info(`receipt of ${id}: ${(totalCents / 100).toFixed(2)}, seal ${seal}`);
    return undefined;
  },
  { stream: orders },
);
