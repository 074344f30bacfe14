import type { EventInput } from "@rheo/core";

/** An order event of about 300 bytes of JSON, different for each index. */
const sampleEvent = (index: number): EventInput => ({
  type: "order.line_item.updated",
  key: `order-${index % 5_000}`,
  payload: {
    tenant: `tenant-${index % 97}`,
    order: `order-${index % 5_000}`,
    version: index % 40,
    at: 1_700_000_000_000 + index,
    data: {
      sku: `SKU-${index % 1_000}`,
      quantity: index % 12,
      price: { amount: 1_999 + (index % 100), currency: "EUR" },
      note: "left at the front desk, call on arrival",
      tags: ["web", "priority"],
    },
    trace: `4bf92f3577b34da6a3ce929d0e0e47${(index % 90) + 10}`,
  },
});

export const sampleEvents = (from: number, count: number): EventInput[] =>
  Array.from({ length: count }, (_, index) => sampleEvent(from + index));
