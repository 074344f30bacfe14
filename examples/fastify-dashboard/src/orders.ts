import { defineStream } from "@rheo/core";

export interface Order {
  readonly customer: string;
  readonly items: readonly { readonly product: string; readonly quantity: number; readonly priceCents: number }[];
}

/** Checked by Fastify before it is appended. */
export const orderSchema = {
  type: "object",
  required: ["customer", "items"],
  additionalProperties: false,
  properties: {
    customer: { type: "string", minLength: 1, maxLength: 100 },
    items: {
      type: "array",
      minItems: 1,
      maxItems: 100,
      items: {
        type: "object",
        required: ["product", "quantity", "priceCents"],
        additionalProperties: false,
        properties: {
          product: { type: "string", minLength: 1, maxLength: 100 },
          quantity: { type: "integer", minimum: 0, maximum: 1_000 },
          priceCents: { type: "integer", minimum: 0, maximum: 10_000_000 },
        },
      },
    },
  },
} as const;

export const orders = defineStream<Order, Order>({ name: "orders", partitions: 4 });
