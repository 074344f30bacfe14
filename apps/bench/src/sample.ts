import type { EventInput } from "@rheo/core";

/** What an event without lines has in JSON, about. */
export const SMALL_BYTES = 300;
/** Of one line, about. */
const LINE_BYTES = 128;

/** One more line of an order, different for each place, so that stores which compress find no more to save than in life. */
const lineOf = (seed: number): object => ({
  sku: `SKU-${(seed * 7_919) % 100_003}`,
  batch: ((seed * 7_919_317) % 1_073_741_789).toString(36),
  quantity: seed % 12,
  price: { amount: 1_999 + ((seed * 31) % 977), currency: "EUR" },
  warehouse: `${(seed * 40_503) % 65_521}`,
  checked: seed % 3 === 0,
});

/** An order event of about so many bytes of JSON, different for each index. */
const sampleEvent = (index: number, bytes: number): EventInput => {
  const lines = Math.round((bytes - SMALL_BYTES) / LINE_BYTES);
  return {
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
        ...(lines > 0 ? { lines: Array.from({ length: lines }, (_, line) => lineOf(index * lines + line)) } : {}),
      },
      trace: `4bf92f3577b34da6a3ce929d0e0e47${(index % 90) + 10}`,
    },
  };
};

/** `bytes`: of each in JSON, from 300. */
export const sampleEvents = (from: number, count: number, bytes: number = SMALL_BYTES): EventInput[] =>
  Array.from({ length: count }, (_, index) => sampleEvent(from + index, bytes));

/** Calls of appendMany: as many events each as go well into one. */
export const sampleBatches = (events: number, size: number, bytes: number = SMALL_BYTES): EventInput[][] =>
  Array.from({ length: Math.ceil(events / size) }, (_, batch) =>
    sampleEvents(batch * size, Math.min(size, events - batch * size), bytes),
  );
