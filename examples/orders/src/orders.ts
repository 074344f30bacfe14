import { defineStream } from "@rheo/core";
import { z } from "zod";

/** What a customer sends. Whatever else is in it is dropped. */
export const orderRequest = z.object({
  /** Chosen by the client, so that it can send the order again when it had no answer. */
  id: z.uuid(),
  customer: z.email().max(200),
  /** ISO 3166, such as "DE". */
  country: z.string().regex(/^[A-Z]{2}$/),
  netCents: z.int().min(1).max(100_000_000),
});
export type Order = z.infer<typeof orderRequest>;

/** The stream of orders: payloads are checked when they are appended, and typed where they are read. */
export const orders = defineStream({ name: "orders", partitions: 4, schema: orderRequest });
